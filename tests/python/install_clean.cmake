file(REMOVE_RECURSE ${INTO})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --component python --prefix ${INTO}
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
