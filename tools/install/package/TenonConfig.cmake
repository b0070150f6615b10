# find_package(Tenon): the targets Tenon::tenon, the compiler and its API, and
# Tenon::runtime, which is enough for code compiled ahead of time.
get_filename_component(_tenon_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.."
  ABSOLUTE)

if(NOT TARGET Tenon::tenon)
  add_library(Tenon::tenon SHARED IMPORTED)
  set_target_properties(Tenon::tenon PROPERTIES
    IMPORTED_LOCATION "${_tenon_prefix}/lib/libtenon.so.0"
    IMPORTED_SONAME "libtenon.so.0"
    INTERFACE_INCLUDE_DIRECTORIES "${_tenon_prefix}/include")

  set(THREADS_PREFER_PTHREAD_FLAG ON)
  include(CMakeFindDependencyMacro)
  find_dependency(Threads)
  add_library(Tenon::runtime STATIC IMPORTED)
  set_target_properties(Tenon::runtime PROPERTIES
    IMPORTED_LOCATION "${_tenon_prefix}/lib/libtenon_rt.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_tenon_prefix}/include"
    INTERFACE_LINK_LIBRARIES "Threads::Threads")
endif()
unset(_tenon_prefix)
