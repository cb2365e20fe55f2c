# The library. Each folder of src/ is a layer. New files are found automatically.
#
#   hecate         libhecate.so, exports only hec_* (version script)
#   hecate_static  libhecate.a, also exports only hec_*: one object file whose hidden symbols are local
#   hecate_inside  the same objects with all symbols visible, for tests of internal functions

# The libraries that are needed besides the C library, by their pkg-config names. They are linked, and named in
# hecate.pc and in the CMake package.
set(HEC_PACKAGES jansson libpcre2-8 libutf8proc zlib)
if(NOT PKG_CONFIG_FOUND)
  message(FATAL_ERROR "pkg-config is missing: tools/bootstrap build")
endif()
set(packages)
foreach(package IN LISTS HEC_PACKAGES)
  pkg_check_modules(${package} IMPORTED_TARGET ${package})
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "${package} is missing: tools/bootstrap build")
  endif()
  list(APPEND packages PkgConfig::${package})
endforeach()

# Reading sound files: without either library the functions exist and return an error.
if(HEC_AUDIO)
  pkg_check_modules(sndfile IMPORTED_TARGET sndfile)
  pkg_check_modules(samplerate IMPORTED_TARGET samplerate)
endif()
if(sndfile_FOUND AND samplerate_FOUND)
  list(APPEND HEC_PACKAGES sndfile samplerate)
  list(APPEND packages PkgConfig::sndfile PkgConfig::samplerate)
  set_source_files_properties(src/base/version.c PROPERTIES COMPILE_DEFINITIONS
    "HEC_AUDIO_TEXT=\", sndfile ${sndfile_VERSION}, samplerate ${samplerate_VERSION}\"")
  set(without_audio "/read_none\\.c$")
else()
  message(STATUS "built without libsndfile or libsamplerate: sound files cannot be read")
  set(without_audio "/audio/read\\.c$")
endif()

# All files of the layers except the kernels, which have their own flags.
file(GLOB_RECURSE sources CONFIGURE_DEPENDS src/*.c)
list(FILTER sources EXCLUDE REGEX "/src/(cli|server|backend/cpu/(ref|x86))/")
list(FILTER sources EXCLUDE REGEX "${without_audio}")
file(GLOB ref_sources CONFIGURE_DEPENDS src/backend/cpu/ref/*.c)
file(GLOB x86_sources CONFIGURE_DEPENDS src/backend/cpu/x86/*.c)
hec_level_flags(x86_sources)

set(parts)
function(hec_part name)
  if(NOT ARGN)
    return()
  endif()
  add_library(${name} OBJECT ${ARGN})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include
                                             ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE ${packages})
  set(parts ${parts} $<TARGET_OBJECTS:${name}> PARENT_SCOPE)
endfunction()

hec_part(hecate_objects ${sources})
# The reference is compiled twice: the f64 version defines the right result, which the f32 version is compared with.
hec_part(hecate_ref_f32 ${ref_sources})
hec_part(hecate_ref_f64 ${ref_sources})
if(TARGET hecate_ref_f64)
  target_compile_definitions(hecate_ref_f64 PRIVATE HEC_REF_F64)
endif()
if(HEC_X86)
  hec_part(hecate_x86 ${x86_sources})
  target_compile_definitions(hecate_objects PRIVATE HEC_HAVE_AVX512)
endif()

function(hec_library_interface name)
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

# Until 1.0 a minor version may break programs, so it stands in the soname.
set(HEC_SOVERSION ${PROJECT_VERSION_MAJOR})
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(HEC_SOVERSION 0.${PROJECT_VERSION_MINOR})
endif()

if(HEC_SHARED)
  set(map ${PROJECT_SOURCE_DIR}/cmake/hecate.map)
  add_library(hecate SHARED ${parts})
  set_target_properties(hecate PROPERTIES LINKER_LANGUAGE C VERSION ${PROJECT_VERSION}
                        SOVERSION ${HEC_SOVERSION} LINK_DEPENDS ${map})
  target_link_options(hecate PRIVATE -Wl,--version-script=${map})
  if(NOT HEC_SANITIZE)
    target_link_options(hecate PRIVATE -Wl,-z,defs)
  endif()
  target_link_libraries(hecate PRIVATE ${packages} Threads::Threads m)
  hec_library_interface(hecate)
endif()

# In a usual static library, hidden symbols can be linked from outside, so a program could call internal functions or
# clash with their names. One relocatable object whose hidden symbols are made local avoids this.
set(whole ${PROJECT_BINARY_DIR}/hecate_whole.o)
add_custom_command(
  OUTPUT ${whole}
  COMMAND ${CMAKE_LINKER} -r -o ${whole} ${parts}
  COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${whole}
  DEPENDS ${parts}
  COMMENT "Joining the library into one object that exports only hec_ symbols"
  COMMAND_EXPAND_LISTS VERBATIM)
set_source_files_properties(${whole} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
add_library(hecate_static STATIC ${whole})
set_target_properties(hecate_static PROPERTIES OUTPUT_NAME hecate LINKER_LANGUAGE C)
target_link_libraries(hecate_static PUBLIC ${packages} Threads::Threads m)
hec_library_interface(hecate_static)

add_library(hecate_inside STATIC EXCLUDE_FROM_ALL ${parts})
set_target_properties(hecate_inside PROPERTIES LINKER_LANGUAGE C)
target_include_directories(hecate_inside PUBLIC ${PROJECT_SOURCE_DIR}/include
                                                ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(hecate_inside PUBLIC ${packages} Threads::Threads m)
