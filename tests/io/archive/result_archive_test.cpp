// labels: fast io
#include "scrm/io/archive/result_archive.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "archive/archive_layout.hpp"
#include "file/text.hpp"
#include "hdf5/hdf5_handle.hpp"
#include "support/files.hpp"
#include "support/runs.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

namespace fs = std::filesystem;

ResultArchive made_up_archive(int runs) {
  ResultArchive archive;
  archive.attributes = {{"version", "0.1.0"}, {"sweep", std::string(100000, 's')}, {"empty", ""}, {"größe", "λ"}};
  for (int i = 0; i < runs; ++i) archive.runs.push_back(made_up_run(i));
  return archive;
}

void check_same(const ResultArchive& a, const ResultArchive& b) {
  CHECK(a.attributes == b.attributes);
  REQUIRE(a.runs.size() == b.runs.size());
  for (std::size_t i = 0; i < a.runs.size(); ++i) {
    CAPTURE(i);
    CHECK(same_run(a.runs[i], b.runs[i]));
  }
}

/// Changes something in an archive with HDF5 itself.
template <class Change>
void with_file(const std::string& path, const Change& change) {
  const hdf5::Lock lock;
  const hdf5::Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
  REQUIRE(file.valid());
  change(file.get());
}

/// Puts a dataset of another shape in the place of one, filled with zeros or ones.
void replace(const std::string& path, const std::string& name, hid_t type, const std::vector<hsize_t>& shape,
             std::int64_t value = 0) {
  with_file(path, [&](hid_t file) {
    REQUIRE(H5Ldelete(file, name.c_str(), H5P_DEFAULT) >= 0);
    const hdf5::Handle space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), H5Sclose);
    const hdf5::Handle how(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    if (H5Tget_class(type) == H5T_INTEGER) H5Pset_fill_value(how.get(), H5T_NATIVE_INT64, &value);
    const hdf5::Handle dataset(H5Dcreate2(file, name.c_str(), type, space.get(), H5P_DEFAULT, how.get(), H5P_DEFAULT),
                               H5Dclose);
    REQUIRE(dataset.valid());
  });
}

}  // namespace

TEST_CASE("an archive: everything reads back to the bit, for no run, one, and many") {
  const Folder folder;
  for (const int runs : {0, 1, 2, 5, 300}) {
    CAPTURE(runs);
    const ResultArchive archive = made_up_archive(runs);
    write_archive(folder / "a.h5", archive);
    check_same(read_archive(folder / "a.h5"), archive);
  }
  CHECK(folder.entries() == 1);
}

TEST_CASE("an archive: runs without rollouts, without theta, and with long ones") {
  const Folder folder;
  ResultArchive archive;
  archive.runs.resize(3);
  write_archive(folder / "a.h5", archive);
  check_same(read_archive(folder / "a.h5"), archive);
  archive.runs[1].theta.assign(200000, -0.0);
  archive.runs[2].loss.assign(1000, 0.5);
  archive.runs[2].rows.assign(1000, -7);
  archive.runs[2].regret.assign(1000, 2.5);
  archive.runs[2].curves["ess"].assign(1000, std::numeric_limits<double>::quiet_NaN());
  write_archive(folder / "a.h5", archive);
  check_same(read_archive(folder / "a.h5"), archive);
}

TEST_CASE("an archive: a number that is missing and one that is NaN are told apart") {
  const Folder folder;
  ResultArchive archive;
  archive.runs.resize(3);
  archive.runs[1].numbers["ess"] = std::numeric_limits<double>::quiet_NaN();
  archive.runs[2].numbers["ess"] = 0;
  write_archive(folder / "a.h5", archive);
  const ResultArchive back = read_archive(folder / "a.h5");
  CHECK_FALSE(back.runs[0].numbers.contains("ess"));
  CHECK(back.runs[1].numbers.contains("ess"));
  CHECK(back.runs[2].numbers.at("ess") == 0);
  CHECK(std::isnan(absent()));
}

TEST_CASE("an archive: the same runs give the same bytes") {
  const Folder folder;
  write_archive(folder / "a.h5", made_up_archive(40));
  write_archive(folder / "b.h5", read_archive(folder / "a.h5"));
  CHECK(bytes_of(folder / "a.h5") == bytes_of(folder / "b.h5"));
}

TEST_CASE("an archive: text that is not UTF-8 becomes text that is") {
  CHECK(sanitize_utf8("größer als λ, 漢字 🙂") == "größer als λ, 漢字 🙂");
  CHECK(sanitize_utf8(std::string("a\0b", 3)) ==
        "a\xEF\xBF\xBD"
        "b");
  for (const char* bad :
       {"\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xf4\x90\x80\x80", "\xe2\x82"})
    CHECK(sanitize_utf8(bad).rfind("\xEF\xBF\xBD", 0) == 0);
  const Folder folder;
  ResultArchive archive;
  archive.runs.resize(1);
  archive.runs[0].message = "cannot open caf\xe9.csv";
  write_archive(folder / "a.h5", archive);
  CHECK(read_archive(folder / "a.h5").runs[0].message == "cannot open caf\xEF\xBF\xBD.csv");
}

TEST_CASE("an archive: what it cannot hold is refused, and an old one stays") {
  const Folder folder;
  const ResultArchive good = made_up_archive(3);
  write_archive(folder / "a.h5", good);
  const auto refused = [&](const auto& spoil) {
    ResultArchive archive = good;
    spoil(archive);
    return complaint([&] { write_archive(folder / "a.h5", archive); });
  };
  CHECK(holds(refused([](ResultArchive& a) { a.runs[2].rows.pop_back(); }), "a.h5: runs/rows: the run pricing/scrm"));
  CHECK(holds(refused([](ResultArchive& a) { a.runs[2].curves["ess"] = {1}; }), "runs/ess: "));
  CHECK(holds(refused([](ResultArchive& a) { a.runs[0].numbers["theta"] = 1; }), "runs/theta: "));
  CHECK(holds(refused([](ResultArchive& a) { a.runs[0].numbers["lambda"] = 1; }), "a number in one run and a curve"));
  CHECK(holds(refused([](ResultArchive& a) { a.attributes["format"] = "x"; }), "'format' cannot be an attribute"));
  check_same(read_archive(folder / "a.h5"), good);
  CHECK(holds(complaint([&] { write_archive(folder / "none/a.h5", good); }), "does not exist"));
}

TEST_CASE("an archive: a disk that fills up at any moment leaves the old one as it was") {
  const Folder folder;
  write_archive(folder / "a.h5", made_up_archive(200));
  const auto size = static_cast<rlim_t>(fs::file_size(folder / "a.h5"));
  write_archive(folder / "a.h5", made_up_archive(2));
  for (rlim_t limit = 0; limit < size; limit += size / 25) {
    std::string message;
    {
      const SmallFiles small(limit);
      message = complaint([&] { write_archive(folder / "a.h5", made_up_archive(200)); });
    }
    CAPTURE(limit);
    CHECK(message.rfind((folder / "a.h5") + ": ", 0) == 0);
    CHECK(holds(message, "File too large; free some space"));
    check_same(read_archive(folder / "a.h5"), made_up_archive(2));
    CHECK(folder.entries() == 1);
  }
}

TEST_CASE("an archive: missing, foreign, cut or damaged files are named with what is wrong") {
  const Folder folder;
  const std::string path = folder / "a.h5";
  const auto problem = [&] { return complaint([&] { read_archive(path); }); };
  CHECK(holds(problem(), path + ": cannot be opened: No such file"));
  std::ofstream(path) << "notes";
  CHECK(holds(problem(), "is not an HDF5 file"));
  write_archive(path, made_up_archive(30));
  const std::string whole = bytes_of(path);
  for (std::size_t size = 0; size < whole.size(); size += whole.size() / 50) {
    fs::remove(path);
    std::ofstream(path, std::ios::binary) << whole.substr(0, size);
    CHECK(problem().rfind(path + ": ", 0) == 0);
  }

  const auto fresh = [&] {
    fs::remove(path);
    write_archive(path, made_up_archive(4));
  };
  fresh();
  with_file(path, [](hid_t file) { H5Adelete(file, "format"); });
  CHECK(holds(problem(), "has no attribute format"));
  for (const std::string name : {"environment", "status", "seed", "loss", "theta", "rollouts", "l2", "lambda"}) {
    fresh();
    with_file(path, [&](hid_t file) { H5Ldelete(file, ("runs/" + name).c_str(), H5P_DEFAULT); });
    CHECK(holds(problem(), path + ": runs/" + name + ": there is no such dataset"));
  }
  fresh();
  replace(path, "runs/seed", H5T_STD_I64LE, {3});
  CHECK(holds(problem(), "runs/seed: has 3 rows, but runs/environment has 4"));
  fresh();
  replace(path, "runs/seed", H5T_IEEE_F64LE, {4});
  CHECK(holds(problem(), "runs/seed: must hold whole numbers"));
  fresh();
  replace(path, "runs/method", H5T_IEEE_F64LE, {4});
  CHECK(holds(problem(), "runs/method: must hold text"));
  fresh();
  replace(path, "runs/loss", H5T_IEEE_F64LE, {4});
  CHECK(holds(problem(), "runs/loss: has 1 dimensions, two are needed"));
  fresh();
  replace(path, "runs/regret", H5T_IEEE_F64LE, {4, 1});
  CHECK(holds(problem(), "runs/rollouts, row 2: is 2, but runs/regret has 1 column"));
  fresh();
  replace(path, "runs/rollouts", H5T_STD_I64LE, {4}, -1);
  CHECK(holds(problem(), "runs/rollouts, row 0: is -1"));
  fresh();
  replace(path, "runs/theta", H5T_IEEE_F64LE, {4});
  CHECK(holds(problem(), "runs/theta: must hold lists of numbers"));
  fresh();
  replace(path, "runs/loss", H5T_IEEE_F64LE, {4, hsize_t{1} << 50});
  CHECK(holds(problem(), "runs/loss: cannot have"));
  fresh();
  with_file(path, [](hid_t file) { H5Adelete_by_name(file, "runs", "extra_curves", H5P_DEFAULT); });
  CHECK(holds(problem(), "runs attribute extra_curves: is missing"));
}

TEST_CASE("an archive: a changed byte is noticed wherever it is, unless HDF5 changed it") {
  const Folder folder;
  const ResultArchive archive = made_up_archive(3);
  write_archive(folder / "whole.h5", archive);
  const std::string whole = bytes_of(folder / "whole.h5");
  const std::string path = folder / "a.h5";
  constexpr std::size_t kSeal = 12;
  for (std::size_t at = 0; at + kSeal < whole.size(); at += 101) {
    CAPTURE(at);
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    fs::remove(path);
    std::ofstream(path, std::ios::binary) << damaged;
    CHECK(holds(complaint([&] { read_archive(path); }), path + ": is damaged"));
  }
  fs::copy_file(folder / "whole.h5", folder / "edited.h5");
  with_file(folder / "edited.h5", [](hid_t file) { H5Ldelete(file, "runs/message", H5P_DEFAULT); });
  CHECK(holds(complaint([&] { read_archive(folder / "edited.h5"); }), "runs/message: there is no such dataset"));
  fs::remove(path);
  std::ofstream(path, std::ios::binary) << whole.substr(0, whole.size() - kSeal);
  check_same(read_archive(path), archive);
}
