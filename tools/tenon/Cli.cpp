//===- Cli.cpp - what all subcommands share -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Cli.h.
//
//===----------------------------------------------------------------------===//
#include "tools/tenon/Cli.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace tenon::cli {

Error badOption(std::string message, std::string hint) {
  Error error;
  error.code = ErrorCode::BadOption;
  error.message = std::move(message);
  error.hint = std::move(hint);
  return error;
}

int exitCodeOf(const std::vector<Error> &errors) {
  int code = 0;
  for (const Error &error : errors)
    code = std::max(code, static_cast<int>(categoryOf(error.code)));
  return code;
}

int fail(const std::vector<Error> &errors) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n", str(errors).c_str());
  return exitCodeOf(errors);
}

int fail(const Error &error) { return fail(std::vector<Error>{error}); }

std::string environmentName(std::string_view flag) {
  std::string name = "TENON_";
  for (char c : flag)
    name += c == '-' ? '_' : static_cast<char>(c & ~0x20);
  return name;
}

std::vector<std::string> splitText(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    size_t end = text.find(separator);
    pieces.emplace_back(text.substr(0, end));
    if (end == text.npos)
      break;
    text.remove_prefix(end + 1);
    if (text.empty())
      pieces.emplace_back();
  }
  return pieces;
}

std::optional<int64_t> parseInteger(std::string_view text) {
  int64_t value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

double quantile(std::vector<double> &values, double fraction) {
  if (values.empty())
    return 0;
  std::sort(values.begin(), values.end());
  double position = fraction * static_cast<double>(values.size() - 1);
  return values[static_cast<size_t>(position + 0.5)];
}

CLI::Validator numberIn(double least, double most) {
  char range[80];
  std::snprintf(range, sizeof(range), "from %.10g to %.10g", least, most);
  auto check = [=, text = std::string(range)](std::string &word) {
    double value = 0;
    auto [end, error] =
        std::from_chars(word.data(), word.data() + word.size(), value);
    bool good = error == std::errc() && end == word.data() + word.size() &&
                value >= least && value <= most;
    return good ? std::string()
                : "\"" + word.substr(0, 40) + "\" is no number " + text;
  };
  return CLI::Validator(check, std::string(range));
}

CLI::Validator anySeed() {
  auto check = [](std::string &word) {
    uint64_t value = 0;
    auto [end, error] =
        std::from_chars(word.data(), word.data() + word.size(), value);
    bool good = error == std::errc() && end == word.data() + word.size();
    return good ? std::string()
                : "\"" + word.substr(0, 40) +
                      "\" is no whole number from 0 to 18446744073709551615";
  };
  return CLI::Validator(check, "");
}

void addFormatOption(CLI::App &app, std::string &format,
                     std::vector<std::string> allowed) {
  format = allowed.front();
  std::string names;
  for (const std::string &name : allowed)
    names += (names.empty() ? "" : ", ") + name;
  app.add_option("--format", format, "form of the output: " + names)
      ->check(CLI::IsMember(std::move(allowed)))
      ->capture_default_str();
}

} // namespace tenon::cli
