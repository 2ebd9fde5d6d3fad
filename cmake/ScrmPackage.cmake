# cmake --install, and find_package(scrm) for those who link the library.
include(CMakePackageConfigHelpers)
set(scrm_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/scrm)

install(TARGETS scrm_kernels scrm_io scrm_engine scrm_experiments EXPORT scrm_targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS scrm RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
foreach(folder IN ITEMS kernels io engine experiments)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT scrm_targets FILE scrm-targets.cmake NAMESPACE scrm:: DESTINATION ${scrm_package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/scrm-config.cmake.in
                              ${PROJECT_BINARY_DIR}/scrm-config.cmake INSTALL_DESTINATION ${scrm_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/scrm-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/scrm-config.cmake ${PROJECT_BINARY_DIR}/scrm-config-version.cmake
              ${PROJECT_SOURCE_DIR}/cmake/ScrmLinkDependencies.cmake
        DESTINATION ${scrm_package_dir})
