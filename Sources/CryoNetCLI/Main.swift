// The entry point, and the only call to exit.
// Domain: cold

import Glibc

@main
enum Main {
    static func main() {
        exit(CommandLineInterface.run(Array(CommandLine.arguments.dropFirst())))
    }
}
