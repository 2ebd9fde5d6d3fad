#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <exception>

#include "bindings.hpp"
#include "openblas_core.hpp"
#include "report/version.hpp"
#include "scrm/engine/schedule/libraries.hpp"
#include "scrm/engine/schedule/stop_token.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/libraries.hpp"
#include "scrm/kernels/vector/isa.hpp"
#include "task/memory_size.hpp"

namespace scrm::python {

namespace py = pybind11;

namespace {

const char* to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
      return "usage";
    case ErrorKind::data:
      return "data";
    case ErrorKind::file:
      return "file";
    case ErrorKind::memory:
      return "memory";
    case ErrorKind::run:
      break;
  }
  return "run";
}

/// Raises the Python exception of the kind, which the package defines.
void raise_in_python(const char* kind, const std::string& message, const Place& place) {
  const py::object make = py::module_::import("scrm._errors").attr("make_error");
  const auto text = [](const std::string& part) -> py::object {
    return part.empty() ? py::object(py::none()) : py::object(py::str(part));
  };
  const py::object row = place.row ? py::object(py::int_(*place.row)) : py::object(py::none());
  const py::object error = make(kind, message, text(place.file), text(place.dataset), row);
  PyErr_SetObject(py::type::of(error).ptr(), error.ptr());
}

void translate(std::exception_ptr error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const Error& failed) {
    raise_in_python(to_string(failed.kind()), failed.what(), failed.place());
  } catch (const StopRequested& stopped) {
    raise_in_python("run", stopped.what(), {});
  }
}

}  // namespace
}  // namespace scrm::python

PYBIND11_MODULE(_scrm, module) {
  namespace py = pybind11;
  using namespace scrm;
  using namespace scrm::python;
  static const std::string openblas_before = choose_openblas_core();
  py::register_exception_translator(translate);
  module.attr("version") = version();
  module.def("about", [] {
    return py::dict(py::arg("version") = version(), py::arg("instruction_set") = active_isa(),
                    py::arg("tbb") = tbb_version(), py::arg("hdf5") = hdf5_version(),
                    py::arg("openblas") = openblas_version(), py::arg("openblas_core") = openblas_core(),
                    py::arg("openblas_core_before") = openblas_before,
                    py::arg("openblas_private") = openblas_is_private(),
                    py::arg("openblas_better_core") = better_openblas_core(openblas_core(), cpu_features()));
  });
  module.def("machine_memory", machine_memory);
  module.def("parse_size", parse_size);
  bind_evaluate(module);
  bind_learn(module);
  bind_policy(module);
  bind_sweep(module);
}
