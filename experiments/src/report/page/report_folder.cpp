#include "report/page/report_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "scrm/io/file/atomic_file.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPage = "index.html";

bool is_report(const fs::path& folder) {
  // The line that says so is near the top.
  constexpr std::size_t kHead = 1024;
  std::string head(kHead, '\0');
  std::ifstream page(folder / kPage, std::ios::binary);
  page.read(head.data(), kHead);
  return head.find("<meta name=\"generator\" content=\"scrm ") != std::string::npos;
}

void make_folder(const fs::path& folder, const std::string& asked) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw Error(ErrorKind::file, "cannot make a folder here: " + error.message(), {.file = asked});
}

class Writer {
 public:
  explicit Writer(std::string folder) : folder_(std::move(folder)) {}

  std::string write(const std::string& room, const std::string& name, const std::string& text) {
    make_folder(folder_ / room, folder_.string());
    const std::string path = (folder_ / room / name).string();
    write_text_file(path, text);
    written_.insert(fs::path(path).lexically_normal().string());
    return path;
  }

  void remove_others(const std::string& room) const {
    std::error_code error;
    std::vector<fs::path> old;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_ / room, error)) {
      const std::string kind = entry.path().extension().string();
      const bool ours = kind == ".svg" || kind == ".md" || kind == ".tex" || kind == ".csv";
      if (ours && written_.count(entry.path().lexically_normal().string()) == 0) old.push_back(entry.path());
    }
    for (const fs::path& path : old) fs::remove(path, error);
  }

 private:
  fs::path folder_;
  std::set<std::string> written_;
};

}  // namespace

void require_report_folder(const std::string& folder, bool overwrite) {
  const auto fail = [&folder](const std::string& what) { throw Error(ErrorKind::file, what, {.file = folder}); };
  if (folder.empty()) throw Error(ErrorKind::usage, "the name of the output folder is empty");
  std::error_code error;
  if (!fs::exists(fs::symlink_status(folder, error))) return;
  if (!fs::is_directory(folder, error)) fail("is there already and is no folder; choose another name");
  const bool empty = fs::is_empty(folder, error);
  if (error) fail("cannot look into this folder: " + error.message());
  if (empty) return;
  if (!is_report(folder)) fail("this folder holds other things than a report; choose another one");
  if (!overwrite) fail("this folder holds a report already; choose another one, or replace it with --overwrite");
}

ReportFiles write_report(const Page& page, const std::string& folder) {
  make_folder(folder, folder);
  Writer writer(folder);
  ReportFiles files;
  for (const PageSection& section : page.sections) {
    for (const PageBlock& block : section.blocks) {
      if (const auto* figure = std::get_if<PageFigure>(&block))
        files.figures.push_back(writer.write("figures", figure->name + ".svg", svg_file(figure->chart)));
      if (const auto* table = std::get_if<ReportTable>(&block)) {
        files.tables.push_back(writer.write("tables", table->name + ".md", markdown_text(*table)));
        files.tables.push_back(writer.write("tables", table->name + ".tex", latex_text(*table)));
        files.tables.push_back(writer.write("tables", table->name + ".csv", csv_text(*table)));
      }
    }
  }
  for (const char* room : {"tables", "figures"}) writer.remove_others(room);
  files.page = writer.write("", kPage, html_text(page));
  return files;
}

}  // namespace scrm
