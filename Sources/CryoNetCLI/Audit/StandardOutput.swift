// Standard output of commands that print much: buffered, coloured on a terminal only.
// Domain: cold

import CryoIO
import Glibc

final class StandardOutput {
    enum Colour: String {
        case red = "31"
        case green = "32"
        case yellow = "33"
        case cyan = "36"
        case faint = "2"
        case bold = "1"
    }

    static let colourOption = Option(name: "--color", value: "WHEN", help: "auto, always or never; auto: on a terminal without NO_COLOR")
    private static let bufferBytes = 256 << 10

    let isTerminal: Bool
    private let isColoured: Bool
    private var buffer: [UInt8] = []
    /// What stood in the way of writing.
    private(set) var failure: SystemError?

    init(_ arguments: Arguments) throws(UsageError) {
        isTerminal = isatty(1) == 1
        switch arguments.value("--color") ?? "auto" {
        case "auto": isColoured = isTerminal && (environment("NO_COLOR") ?? "").isEmpty && environment("TERM") != "dumb"
        case "always": isColoured = true
        case "never": isColoured = false
        case let word: throw UsageError(message: "--color \(word): auto, always or never")
        }
    }

    func painted(_ text: String, _ colour: Colour?) -> String {
        guard isColoured, let colour else { return text }
        return "\u{1b}[\(colour.rawValue)m\(text)\u{1b}[0m"
    }

    func line(_ text: String) { line(Array(text.utf8)) }

    func line(_ bytes: some Collection<UInt8>) {
        buffer.append(contentsOf: bytes)
        buffer.append(0x0A)
        if buffer.count >= Self.bufferBytes { flush() }
    }

    func flush() {
        var start = 0
        while start < buffer.count, failure == nil {
            let count = buffer.withUnsafeBytes { write(1, $0.baseAddress?.advanced(by: start), $0.count - start) }
            if count < 0, errno == EINTR { continue }
            if count <= 0 { failure = SystemError("can't write standard output") } else { start += count }
        }
        buffer.removeAll(keepingCapacity: true)
    }

    /// The exit status of a command that has done its work as far as `isWhole` says.
    func end(_ isWhole: Bool) -> Int32 {
        flush()
        if let failure { print(error: "\(failure)") }
        return isWhole && failure == nil ? ExitStatus.done : ExitStatus.failed
    }
}
