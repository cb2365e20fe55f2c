# The program includes only public headers and its own folder. It is linked to the static library, which exports
# only hec_ symbols.

file(GLOB_RECURSE cli_sources CONFIGURE_DEPENDS src/cli/*.c)
hec_level_flags(cli_sources)
set(with_main ${cli_sources})
list(FILTER with_main INCLUDE REGEX "/main\\.c$")

if(with_main)
  add_executable(hecate_program ${cli_sources})
  set_target_properties(hecate_program PROPERTIES OUTPUT_NAME hecate)
  target_include_directories(hecate_program PRIVATE src)
  # The path from the installed program to its data is relative, so that an installation can be moved.
  file(RELATIVE_PATH to_data ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_DATADIR}/hecate)
  target_compile_definitions(hecate_program PRIVATE HECATE_TO_DATA="${to_data}")
  target_link_libraries(hecate_program PRIVATE hecate_static PkgConfig::jansson)
endif()
