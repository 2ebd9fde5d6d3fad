#include <fmt/format.h>

#include <memory>
#include <string>

#include "cli/command.hpp"
#include "cli/help/command_facts.hpp"
#include "cli/help/completion.hpp"
#include "cli/help/man_page.hpp"
#include "cli/options/choice.hpp"
#include "report/version.hpp"

namespace scrm {

void add_shell_commands(CLI::App& program) {
  enum class Shell { bash, zsh };
  const std::string group = "For the shell";
  auto shell = std::make_shared<Shell>(Shell::bash);
  CLI::App& completion =
      *program.add_subcommand("completion", "Print a script with which bash or zsh completes scrm")->group(group);
  choose_among<Shell>(completion.add_option("shell", *shell, "bash or zsh"),
                      {{"bash", Shell::bash}, {"zsh", Shell::zsh}})
      ->required()
      ->type_name("SHELL");
  completion.footer("Example:\n  source <(scrm completion bash)");
  completion.callback([&program, shell] {
    const std::vector<CommandFacts> commands = command_facts(program);
    fmt::print("{}", *shell == Shell::bash ? bash_completion(commands) : zsh_completion(commands));
  });
  CLI::App& manual = *program.add_subcommand("man", "Print the manual page, in roff")->group(group);
  manual.footer("Example:\n  scrm man | man -l -");
  manual.callback([&program] { fmt::print("{}", man_page(command_facts(program), version())); });
}

}  // namespace scrm
