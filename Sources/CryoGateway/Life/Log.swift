// The gateway's own log: one line per event on standard error. Never holds client bytes or secrets.
// Domain: shared

import CryoIO
import CryoSync
import Glibc

package enum LogLevel: String, Sendable {
    case info, warning, error
}

/// Writes whole lines, `2026-11-30T07:00:00Z warning message`; the time is left out on a terminal.
package final class Log: Sendable {
    private let isTerminal = isatty(2) == 1
    private let isSilent: Bool
    private let lock = Mutex(())

    /// A silent one is for gateways that run inside a command.
    package init(isSilent: Bool = false) { self.isSilent = isSilent }

    package func info(_ message: String) { write(.info, message) }
    package func warning(_ message: String) { write(.warning, message) }
    package func error(_ message: String) { write(.error, message) }

    private func write(_ level: LogLevel, _ message: String) {
        if isSilent { return }
        let clean = Self.printable(message)
        let line = isTerminal ? "\(level == .info ? "" : level.rawValue + ": ")\(clean)\n" : "\(Self.time()) \(level.rawValue) \(clean)\n"
        lock.withLock { _ in
            var bytes = Array(line.utf8)[...]
            while !bytes.isEmpty {
                let count = bytes.withUnsafeBytes { Glibc.write(2, $0.baseAddress, $0.count) }
                if count < 0, errno == EINTR { continue }
                if count <= 0 { return }
                bytes = bytes.dropFirst(count)
            }
        }
    }

    /// Control characters can't reach a terminal or forge a line.
    private static func printable(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) ? " " : $0 }))
    }

    private static func time() -> String {
        var seconds = time_t(Clock.unixMicroseconds() / 1_000_000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        func two(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
        return
            "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))T\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))Z"
    }
}
