# Installs the build into an empty prefix, then configures, builds and runs the project in downstream/ against it.
function(run_step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed: ${ARGN}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
run_step(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/prefix)
run_step(${CMAKE_COMMAND} -S ${SOURCE_DIR} -B ${WORK_DIR}/build -G Ninja -D CMAKE_CXX_COMPILER=${CXX_COMPILER}
         -D CMAKE_PREFIX_PATH=${WORK_DIR}/prefix)
run_step(${CMAKE_COMMAND} --build ${WORK_DIR}/build)
run_step(${WORK_DIR}/build/downstream)

foreach(file IN ITEMS share/man/man1/scrm.1 share/bash-completion/completions/scrm share/zsh/site-functions/_scrm)
  file(SIZE ${WORK_DIR}/prefix/${file} bytes)
  if(bytes LESS 1000)
    message(FATAL_ERROR "${file} has ${bytes} bytes")
  endif()
endforeach()

run_step(${WORK_DIR}/prefix/bin/scrm --version)
if(NOT output MATCHES "scrm ${VERSION}")
  message(FATAL_ERROR "the installed program says: ${output}")
endif()
