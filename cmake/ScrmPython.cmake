# SCRM_PYTHON: a Python that has what the tests and bench/ratios.py import. Debian's own comes first: a version manager's
# shim in PATH has no packages. bench/python_modules.py looks in the same order.
if(NOT SCRM_PYTHON)
  find_program(scrm_python_in_path python3)
  foreach(candidate IN ITEMS $ENV{SCRM_PYTHON} /usr/bin/python3 ${scrm_python_in_path})
    execute_process(COMMAND ${candidate} -c "import h5py, numpy" RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if(failed EQUAL 0)
      set(SCRM_PYTHON ${candidate} CACHE FILEPATH "Python with h5py and numpy, for the tests of the program")
      break()
    endif()
  endforeach()
endif()
