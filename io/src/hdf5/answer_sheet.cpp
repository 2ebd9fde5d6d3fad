#include "hdf5/answer_sheet.hpp"

#include "file/fields.hpp"

namespace scrm {
namespace {

// Another form of questions or answers needs another number here.
constexpr std::int64_t kEdition = 1;
// Of a note: it is read whole before anything else is.
constexpr std::size_t kMostBytes = std::size_t{1} << 20;

bool is_kept(Question question) noexcept {
  switch (question) {
    case Question::attribute:
    case Question::attribute_names:
    case Question::object:
    case Question::members:
    case Question::array:
      return true;
    default:
      return false;
  }
}

/// Of the question alone, whatever the file is called by now.
std::string key_of(const Hdf5Request& request) {
  FieldWriter writer;
  writer.field(static_cast<std::int64_t>(request.question));
  writer.field(request.object);
  writer.field(request.name);
  return std::move(writer.bytes);
}

}  // namespace

void AnswerSheet::add(const Hdf5Request& request, const std::string& answer) {
  if (is_kept(request.question)) answers_.emplace(key_of(request), answer);
}

std::optional<std::string> AnswerSheet::find(const Hdf5Request& request) const {
  if (!is_kept(request.question)) return std::nullopt;
  const auto found = answers_.find(key_of(request));
  return found == answers_.end() ? std::nullopt : std::optional(found->second);
}

std::string AnswerSheet::note() const {
  if (answers_.empty()) return "";
  FieldWriter writer;
  writer.field(kEdition);
  writer.field(answers_);
  return writer.bytes.size() > kMostBytes ? "" : std::move(writer.bytes);
}

AnswerSheet AnswerSheet::of_note(std::string_view note) {
  AnswerSheet sheet;
  std::int64_t edition = 0;
  FieldReader reader(note);
  reader.field(edition);
  if (edition == kEdition) reader.field(sheet.answers_);
  return reader.good() ? sheet : AnswerSheet();
}

}  // namespace scrm
