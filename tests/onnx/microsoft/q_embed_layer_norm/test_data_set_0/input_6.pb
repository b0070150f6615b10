Bgamma_sJ
×#=