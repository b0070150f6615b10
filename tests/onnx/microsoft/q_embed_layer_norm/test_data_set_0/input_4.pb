Bplaces_sJ
ף<