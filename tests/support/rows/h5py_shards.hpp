/// Shards made by h5py, as users make them: a Python to run, and the values its scripts write.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "support/files.hpp"

namespace scrm::testing {

/// The values of row i, exact in float32: Python's `ctx`, `loss`, `act`, `prop` below write the same.
inline double context_value(std::int64_t i, std::int64_t j) {
  return static_cast<double>((i * 31 + j * 17) % 1009) / 8 - 60;
}
inline double loss_value(std::int64_t i) {
  return static_cast<double>(i % 97) / 64 - 0.5;
}
inline double action_value(std::int64_t i) {
  return static_cast<double>(i % 113) / 4 - 10;
}
inline double propensity_value(std::int64_t i) {
  return static_cast<double>(i % 61 + 1) / 64;
}
inline int category_value(std::int64_t i, int actions) {
  return static_cast<int>(i * 7 % actions);
}
inline int bit_value(std::int64_t i, std::int64_t k) {
  return static_cast<int>((i + k * k) % 3 == 0);
}
inline double label_propensity_value(std::int64_t i, std::int64_t k) {
  return static_cast<double>((i + 3 * k) % 15 + 1) / 16;
}

inline constexpr const char* kPreamble = R"(
import sys, os, struct, numpy as np, h5py
def grid(n, d): return np.arange(n)[:, None], np.arange(d)[None, :]
def ctx(n, d, t='f8'):
    i, j = grid(n, d); return (((i * 31 + j * 17) % 1009) / 8 - 60).astype(t)
def loss(n, t='f8'): return (np.arange(n) % 97 / 64 - 0.5).astype(t)
def act(n, t='f8'): return (np.arange(n) % 113 / 4 - 10).astype(t)
def prop(n, t='f8'): return ((np.arange(n) % 61 + 1) / 64).astype(t)
def cat(n, k, t='i8'): return (np.arange(n) * 7 % k).astype(t)
def bits(n, k, t='u1'):
    i, j = grid(n, k); return ((i + j * j) % 3 == 0).astype(t)
def labels(n, k, t='f8'):
    i, j = grid(n, k); return (((i + 3 * j) % 15 + 1) / 16).astype(t)
def attrs(f, kind='continuous', **more):
    f.attrs['format'] = 'scrm-log'; f.attrs['format_version'] = 1; f.attrs['action_kind'] = kind
    for k, v in more.items(): f.attrs[k] = v
def shard(name, columns, kind='continuous', how={}, **more):
    with h5py.File(name, 'w') as f:
        attrs(f, kind, **more)
        for k, v in columns.items():
            f.create_dataset(k, data=v, **(how(v) if callable(how) else how))
def usual(n, d=3, t='f8'):
    c = dict(action=act(n), loss=loss(n), propensity=prop(n))
    if d is not None: c['context'] = ctx(n, d, t)
    return c
)";

/// Runs the script in the folder, after the preamble. Ends the test as skipped when there is no Python with h5py.
inline void run_python(const Folder& folder, const std::string& script) {
  static const std::string python = [] {
    for (const char* candidate : {"/usr/bin/python3", "python3"}) {
      if (std::system((std::string(candidate) + " -c 'import h5py, numpy' 2>/dev/null").c_str()) == 0) {
        return std::string(candidate);
      }
    }
    std::exit(77);
  }();
  const std::string file = folder / "script.py";
  std::ofstream(file) << kPreamble << script;
  if (std::system(("cd '" + folder.path.string() + "' && " + python + " -B script.py").c_str()) != 0) {
    throw std::runtime_error("the script that writes the files failed");
  }
  std::filesystem::remove(file);
}

}  // namespace scrm::testing
