Bwords_sJ
×#<