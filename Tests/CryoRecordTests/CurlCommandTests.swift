// Commands are read by a real shell, which must end up with just the bytes that were meant.
// Domain: cold

import CryoRecord
import Foundation
import Testing

/// What `sh` makes of a script: the bytes it prints.
private func shell(_ script: [UInt8], environment: [String: String] = [:]) throws -> [UInt8] {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.environment = ["PATH": "/usr/bin:/bin", "LC_ALL": "C"].merging(environment) { $1 }
    let input = Pipe()
    let output = Pipe()
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    try input.fileHandleForWriting.write(contentsOf: Data(script))
    try input.fileHandleForWriting.close()
    let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return Array(bytes)
}

/// The words of a command that begins with `curl`, each followed by NUL: a function stands in for curl.
private func words(of command: CurlCommand, environment: [String: String] = [:]) throws -> [String] {
    let script = Array("curl() { for word; do printf '%s\\0' \"$word\"; done; }\n".utf8) + command.text + [0x0A]
    let printed = try shell(script, environment: environment)
    return printed.split(separator: 0, omittingEmptySubsequences: false).dropLast().map { String(decoding: $0, as: UTF8.self) }
}

private func request(_ members: String) throws -> RecordedRequest {
    let record = try #require(RecordFixture.record(RecordFixture.line(members)))
    return try #require(RecordedRequest(record))
}

private let gateway = RequestDestination(base: "http://127.0.0.1:8080")

@Suite struct ShellTextTests {
    @Test(
        "A quoted word is read back byte for byte",
        arguments: [
            "", "plain", "two words", "it's", "''", "'", "\"", "$HOME", "`id`", "$(id)", "\\", "a\\nb", "line\nline\n", "tab\t", "\r",
            "\u{1b}[31mred", "-n", "--help",
            "@file", "=x", "~", "*", "?", "a;b", "a|b", "a&b", "#", "!", "余额", "\u{9b}31m", "\u{202e}txt", "\u{7f}", "\u{1}\u{2}", "{a,b}",
            "\u{feff}", "'\u{1b}'", "%s",
        ])
    func roundTrip(_ text: String) throws {
        let quoted = ShellText.quoted(text)
        #expect(try shell(Array("printf '%s' ".utf8) + quoted) == Array(text.utf8))
        #expect(!quoted.contains { ($0 < 0x20 && $0 != 0x0A && $0 != 0x09) || $0 == 0x7F })
    }

    @Test("Random bytes are read back, those with NUL by printf")
    func random() throws {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<60 {
            let bytes = (0..<40).map { _ in UInt8.random(in: 1...255, using: &random) }
            #expect(try shell(Array("printf '%s' ".utf8) + ShellText.quoted(bytes)) == bytes)
            let all = (0..<40).map { _ in UInt8.random(in: 0...9, using: &random) &* 29 }
            #expect(try shell(Array("printf %b ".utf8) + ShellText.printfArgument(all)) == all)
        }
        let every = Array(UInt8.min...UInt8.max)
        #expect(try shell(Array("printf %b ".utf8) + ShellText.printfArgument(every)) == every)
    }
}

@Suite struct CurlCommandTests {
    @Test("A plain request becomes a plain command")
    func plain() throws {
        let record = try #require(RecordFixture.record(RecordFixture.plain))
        let recorded = try #require(RecordedRequest(record))
        let command = CurlCommand(recorded, to: gateway)
        #expect(
            try words(of: command) == [
                "--globoff", "--path-as-is", "--url", "http://127.0.0.1:8080/news/list?page=2&q=a%20b", "-H", "Accept: application/json",
            ])
        #expect(command.notes == ["a value in the header Authorization was taken out of the record"])
    }

    @Test("Direct, the token is a variable, or what was asked for")
    func direct() throws {
        let record = try #require(RecordFixture.record(RecordFixture.plain))
        let recorded = try #require(RecordedRequest(record))
        var upstream = RequestDestination(base: "https://api.example.com/v1", isDirect: true)
        upstream.strippedPrefix = "/news"
        upstream.fields = [(name: "Authorization", value: [.text("Bearer "), .secret(variable: "TOKEN", value: nil)])]
        #expect(
            try words(of: CurlCommand(recorded, to: upstream), environment: ["TOKEN": "it's $x"]) == [
                "--globoff", "--path-as-is", "--url", "https://api.example.com/v1/list?page=2&q=a%20b", "-H", "Accept: application/json",
                "-H",
                "Authorization: Bearer it's $x",
            ])
        upstream.fields = [(name: "Authorization", value: [.text("Bearer "), .secret(variable: "TOKEN", value: Array("s'3".utf8))])]
        #expect(try words(of: CurlCommand(recorded, to: upstream)).last == "Authorization: Bearer s'3")
    }

    @Test("Values that were taken out become variables, wherever they stood")
    func placeholders() throws {
        let request = try request(
            #""method":"POST","target":"/a?key=***&b=1","request_headers":[["X-Api-Key","***"],["Cookie","a=hmac:0123456789abcdef0123456789abcdef; b"]],"#
                + #""request_body":"{\"p\":\"***\"}""#)
        let command = CurlCommand(request, to: gateway)
        let environment = ["X_API_KEY": "K", "COOKIE": "C", "SECRET": "S"]
        #expect(
            try words(of: command, environment: environment) == [
                "--globoff", "--path-as-is", "--url", "http://127.0.0.1:8080/a?key=S&b=1", "-H", "X-Api-Key: K", "-H", "Cookie: a=C; b",
                "-H", "Content-Type:",
                "--data-raw", #"{"p":"S"}"#,
            ])
        #expect(!String(decoding: command.text, as: UTF8.self).contains("***"))
        #expect(command.notes.count == 4)
    }

    @Test("Hostile fields are left out, hostile values do no harm")
    func hostile() throws {
        let hostile = try request(
            #""method":"PUT","target":"/-x@y'\"$(id)`id`\u001b[31m \n#{a,b}[1-3]","request_headers":[["X-A","v\r\nEvil: 1"],"#
                + #"["@file","x"],["X-B","$(id)'"],["X-C",""],["Content-Length","9"],["Connection","x-d"],["X-D","1"],"#
                + #"["Content-Type","a/b"]],"request_body":"@/etc/passwd\n'$(id)'""#)
        let command = CurlCommand(hostile, to: gateway)
        #expect(
            try words(of: command) == [
                "-X", "PUT", "--globoff", "--path-as-is", "--url", "http://127.0.0.1:8080/-x@y'\"$(id)`id`%1B[31m%20%0A%23{a,b}[1-3]", "-H",
                "X-B: $(id)'", "-H", "X-C;",
                "-H", "Content-Type: a/b", "--data-raw", "@/etc/passwd\n'$(id)'",
            ])
        #expect(command.notes.filter { $0.contains("can't be sent") }.count == 2)
    }

    @Test("A body with NUL goes through printf")
    func binary() throws {
        let request = try request(
            #""method":"POST","target":"/","request_headers":[["Content-Type","x"]],"request_body":"a\u0000'\\n%s\n\u001b""#)
        let command = CurlCommand(request, to: gateway)
        let script = Array("curl() { cat; }\n".utf8) + command.text
        #expect(try shell(script) == Array("a\0'\\n%s\n\u{1b}".utf8))
    }

    @Test(
        "What was no request gives no command; methods and sockets are told",
        arguments: [
            #""target":"/""#, #""method":"GET""#, #""method":"CONNECT","target":"a:443""#, #""method":"G T","target":"/""#,
            #""method":"GET","target":"x""#,
        ])
    func noRequest(_ members: String) throws {
        let record = try #require(RecordFixture.record(RecordFixture.line(members)))
        #expect(RecordedRequest(record) == nil)
    }

    @Test("HEAD, OPTIONS *, a proxy's target and a socket are written as curl wants them")
    func forms() throws {
        var socket = RequestDestination(base: "http://localhost", unixSocket: "/run/a b.sock")
        socket.host = "api.local"
        #expect(
            try words(of: CurlCommand(try request(#""method":"HEAD","target":"http://h/x""#), to: socket)) == [
                "--head", "--unix-socket", "/run/a b.sock", "--globoff", "--path-as-is", "--url", "http://localhost/x", "-H",
                "Host: api.local",
            ])
        #expect(
            try words(of: CurlCommand(try request(#""method":"OPTIONS","target":"*""#), to: gateway)) == [
                "-X", "OPTIONS", "--request-target", "*", "http://127.0.0.1:8080",
            ])
    }

    @Test("What stands against sending a request once more is told")
    func obstacles() throws {
        #expect(try request(#""method":"POST","target":"/","request_bytes":5"#).obstacles == [.noFields, .bodyMissing(bytes: 5)])
        let cut = try request(
            #""method":"POST","target":"/","request_headers":[],"request_bytes":50,"request_body":"abc","request_body_truncated":true"#)
        #expect(cut.obstacles == [.bodyCut(bytes: 3)])
        #expect(try request(#""method":"GET","target":"/","request_headers":[]"#).obstacles.isEmpty)
    }
}

@Suite struct PrintableTextTests {
    @Test(
        "Nothing a terminal obeys is left",
        arguments: [
            ("plain 余额", "plain 余额"), ("\u{1b}[31m", "\\x1b[31m"), ("a\nb\r\tc", "a\\nb\\r\\tc"), ("\u{9b}1m", "\\u{9b}1m"),
            ("\u{202e}x", "\\u{202e}x"), ("\u{0}", "\\x00"),
            ("\u{7f}", "\\x7f"), ("Ü\u{85}", "Ü\\u{85}"),
        ])
    func printable(_ text: String, _ shown: String) {
        #expect(PrintableText.text(text) == shown)
        #expect(PrintableText.text("a\n\tb", keepsLines: true) == "a\n\tb")
    }
}
