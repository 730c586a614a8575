// Reads tokens from standard input: from a terminal without showing them, from a pipe as lines or as JSON. Never from arguments.
// Domain: cold

import CryoConfig
import Glibc

enum SecretInput {
    private static let bytesMax = 262_144

    /// The body of a login call; nil after it was told why there is none. A text that begins with `{` is the body itself; else the
    /// first line is the token, and the second, if any, the refresh token.
    static func login(expiresIn: String?) -> [UInt8]? {
        let text: String
        if isatty(0) == 1 {
            guard let token = ask("Token: "), let refreshToken = ask("Refresh token (empty: none): ") else { return nil }
            text = "\(token)\n\(refreshToken)"
        } else {
            guard let piped = readPipe() else { return nil }
            text = piped
        }
        if text.drop(while: { $0 == " " || $0 == "\n" || $0 == "\t" || $0 == "\r\n" }).hasPrefix("{") { return Array(text.utf8) }
        let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }.map(String.init)
        guard let token = lines.first, !token.isEmpty else {
            print(error: "standard input holds no token")
            return nil
        }
        var body = "{\"token\":\(quoted(token))"
        if lines.count > 1, !lines[1].isEmpty { body += ",\"refresh_token\":\(quoted(lines[1]))" }
        if let expiresIn { body += ",\"expires_in\":\(quoted(expiresIn))" }
        return Array("\(body)}".utf8)
    }

    /// The first line, without its end; nil after it was told why there is none.
    static func firstLine() -> String? {
        let text = isatty(0) == 1 ? ask("Value: ") : readPipe()
        guard let line = text?.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).first, !line.isEmpty else {
            if text != nil { print(error: "standard input holds no value") }
            return nil
        }
        return String(line)
    }

    private static func readPipe() -> String? {
        var bytes = [UInt8](repeating: 0, count: bytesMax + 1)
        var count = 0
        while count < bytes.count {
            let taken = bytes.withUnsafeMutableBytes { read(0, $0.baseAddress?.advanced(by: count), $0.count - count) }
            if taken < 0, errno == EINTR { continue }
            if taken <= 0 { break }
            count += taken
        }
        guard count <= bytesMax else {
            print(error: "standard input is larger than \(bytesMax) bytes")
            return nil
        }
        guard let text = String(validating: bytes[..<count], as: UTF8.self) else {
            print(error: "standard input is not UTF-8")
            return nil
        }
        return text
    }

    /// One line, not echoed.
    private static func ask(_ prompt: String) -> String? {
        var before = termios()
        guard tcgetattr(0, &before) == 0 else { return readLine() }
        var quiet = before
        quiet.c_lflag &= ~tcflag_t(ECHO)
        tell(prompt)
        tcsetattr(0, TCSAFLUSH, &quiet)
        defer {
            tcsetattr(0, TCSAFLUSH, &before)
            tell("\n")
        }
        return readLine()
    }

    /// To the terminal, where standard output may go elsewhere.
    private static func tell(_ text: String) { _ = Array(text.utf8).withUnsafeBytes { write(2, $0.baseAddress, $0.count) } }
}
