# cmake --install, and find_package(scrm) for those who link the library.
include(CMakePackageConfigHelpers)
set(scrm_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/scrm)

install(TARGETS scrm_kernels scrm_io scrm_engine scrm_experiments EXPORT scrm_targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS scrm RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET scrm-mpi)
  install(TARGETS scrm-mpi RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
foreach(folder IN ITEMS kernels io engine experiments)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endforeach()
# The manual page and the completion of shells are printed by the program itself.
install(CODE "
  foreach(printed IN ITEMS \"man;scrm.1\" \"completion;bash;scrm\" \"completion;zsh;_scrm\")
    set(arguments \${printed})
    list(POP_BACK arguments file)
    execute_process(COMMAND \"$<TARGET_FILE:scrm>\" \${arguments}
                    OUTPUT_FILE \"${PROJECT_BINARY_DIR}/\${file}\" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()")
install(FILES ${PROJECT_BINARY_DIR}/scrm.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${PROJECT_BINARY_DIR}/scrm DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${PROJECT_BINARY_DIR}/_scrm DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT scrm_targets FILE scrm-targets.cmake NAMESPACE scrm:: DESTINATION ${scrm_package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/scrm-config.cmake.in
                              ${PROJECT_BINARY_DIR}/scrm-config.cmake INSTALL_DESTINATION ${scrm_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/scrm-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/scrm-config.cmake ${PROJECT_BINARY_DIR}/scrm-config-version.cmake
              ${PROJECT_SOURCE_DIR}/cmake/ScrmLinkDependencies.cmake
        DESTINATION ${scrm_package_dir})
