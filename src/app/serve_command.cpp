#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "app/commands.h"
#include "app/session.h"
#include "app/terminal.h"
#include "server/http_server.h"

namespace emlx {

int run_serve(const ServeFlags& flags) {
  const Session session = open_session(flags.model);
  ServerOptions options;
  options.host = flags.host;
  options.port = static_cast<std::uint16_t>(flags.port);
  options.allow_origin = flags.allow_origin;
  options.allow_hosts = flags.allow_hosts;
  options.sampling = flags.sampling;
  install_interrupt_handler({SIGINT, SIGTERM});
  std::signal(SIGPIPE, SIG_IGN);  // who reads the log may leave
  HttpServer server(session.text, *session.engine, options);
  const bool literal_v6 = flags.host.find(':') != std::string::npos;
  print_error(fmt::format("{} · {}\nlistening on {} · Ctrl-C stops\n",
                          bold(session.text.model->name), describe(session.engine->info()),
                          bold(fmt::format("http://{}{}{}:{}", literal_v6 ? "[" : "", flags.host,
                                           literal_v6 ? "]" : "", server.port()))));
  if (!server.is_loopback())
    print_error("warning: whoever can reach this machine over the network can use the server\n");
  while (!interrupted()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  print_error("stopping, once the step in progress is done\n");
  server.stop();
  return 0;
}

}  // namespace emlx
