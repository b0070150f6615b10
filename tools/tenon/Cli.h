//===- Cli.h - what all subcommands share -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialects/support/Error.h"
#include "dialects/support/Units.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Validator;
} // namespace CLI

namespace tenon::cli {

/// What a parsed command line asks for; returns the exit code.
using Action = std::function<int()>;

// Each adds its subcommand, which sets `action` when it is chosen.
void addRunCommand(CLI::App &app, Action &action);
void addCompileCommand(CLI::App &app, Action &action);
void addCheckCommand(CLI::App &app, Action &action);
void addBenchCommand(CLI::App &app, Action &action);
void addInspectCommand(CLI::App &app, Action &action);
void addExplainCommand(CLI::App &app, Action &action);
void addOpsCommand(CLI::App &app, Action &action);
void addDevInfoCommand(CLI::App &app, Action &action);

/// A user's mistake on the command line.
Error badOption(std::string message, std::string hint = {});

/// Prints coded lines on stderr; the exit code of the worst category.
int fail(const std::vector<Error> &errors);
int fail(const Error &error);
/// The exit code alone; 0 for no errors.
int exitCodeOf(const std::vector<Error> &errors);

/// "TENON_TARGET_CPU" for "target-cpu".
std::string environmentName(std::string_view flag);

/// Splits at every `separator`; an empty text gives no pieces.
std::vector<std::string> splitText(std::string_view text, char separator);

/// A whole number with nothing after it.
std::optional<int64_t> parseInteger(std::string_view text);

/// Sorts `values`; the element at `fraction` of the way, 0 when empty.
double quantile(std::vector<double> &values, double fraction);

/// What an option of a real number may be: finite, from `least` to `most`.
CLI::Validator numberIn(double least, double most);
/// What a seed may be: digits, of a number of 64 bits.
CLI::Validator anySeed();

/// `--format`, one of `allowed`; the first is the default.
void addFormatOption(CLI::App &app, std::string &format,
                     std::vector<std::string> allowed);

} // namespace tenon::cli
