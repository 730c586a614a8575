// Asks the admin side of a running gateway: finds it, carries the key, reads the answer.
// Domain: cold

import CryoConfig
import CryoIO
import CryoPipeline
import CryoTokens
import Glibc

struct AdminAnswer {
    let status: Int
    let body: [UInt8]

    var isGood: Bool { (200...299).contains(status) }
    var text: String { String(decoding: body, as: UTF8.self) }
    /// JSON is a subset of YAML, and this reader is here already.
    var json: YAMLNode? { YAMLDocument(body).root }
}

struct AdminClient {
    /// An answer is a list of a configuration's names, or the configuration itself.
    private static let answerBytesMax = 16 << 20

    private let host: String
    private let port: UInt16
    private let key: Secret?

    static let options = [
        Option(name: "--admin", value: "URL", help: "the admin side, http://127.0.0.1:8081 or unix:PATH; default: the one that runs"),
        Option(name: "--key", value: "REF", help: "its key, env:NAME or file:PATH; default: $CRYONET_ADMIN_KEY, or the running one's file"),
        Option(name: "--ready-file", value: "PATH", help: "find the admin side by the ready file of its gateway"),
        Option(name: "--json", value: nil, help: "print the answer as JSON"),
    ]

    /// nil after it was told why there is none.
    static func find(_ arguments: Arguments) throws(UsageError) -> AdminClient? {
        guard let key = try givenKey(arguments) else { return nil }
        switch key {
        case .given(let secret): return try find(arguments, key: secret)
        case .none: return try find(arguments, key: nil)
        }
    }

    private enum Key { case given(Secret), none }

    /// nil after it was told what is wrong with it. A key on the command line would stand in every list of processes.
    private static func givenKey(_ arguments: Arguments) throws(UsageError) -> Key? {
        if let text = arguments.value("--key") {
            let reference: SecretReference
            if text.hasPrefix("env:") {
                reference = .environment(name: String(text.dropFirst(4)))
            } else if text.hasPrefix("file:") {
                reference = .file(path: String(text.dropFirst(5)))
            } else {
                throw UsageError(message: "--key is env:NAME or file:PATH, never the key itself: others can see it there")
            }
            switch SecretResolver.resolve(reference) {
            case .success(let secret): return .given(secret)
            case .failure(let problem):
                print(error: "--key: \(problem)")
                return nil
            }
        }
        return environment("CRYONET_ADMIN_KEY").map { .given(Secret($0)) } ?? Key.none
    }

    private static func find(_ arguments: Arguments, key: Secret?) throws(UsageError) -> AdminClient? {
        if let path = arguments.value("--ready-file") {
            guard let found = AdminKeyFile.read(AdminKeyFile.beside(path)) else {
                print(error: "there is no \(AdminKeyFile.beside(path)): the gateway does not run, or has no admin listener")
                return nil
            }
            return AdminClient(address: arguments.value("--admin") ?? found.address, key: key ?? found.key.map { Secret($0) })
        }
        let running = AdminKeyFile.running()
        if let address = arguments.value("--admin") {
            guard let client = AdminClient(address: address, key: key) else {
                throw UsageError(message: "\(address) is no http URL with a port, and no unix:PATH")
            }
            // The running one's file knows the key of this address.
            guard key == nil, let known = running.first(where: { AdminClient(address: $0.address, key: nil)?.isSame(as: client) ?? false })
            else { return client }
            return AdminClient(address: address, key: known.key.map { Secret($0) })
        }
        guard let only = running.first else {
            print(error: "no running gateway with an admin side found: name it by --admin URL or --ready-file PATH")
            return nil
        }
        if running.count > 1 {
            let list = running.map { "\($0.address) (pid \($0.pid))" }.joined(separator: ", ")
            print(error: "several gateways run: choose one by --admin: \(list)")
            return nil
        }
        return AdminClient(address: only.address, key: key ?? only.key.map { Secret($0) })
    }

    private func isSame(as other: AdminClient) -> Bool { host == other.host && port == other.port }

    /// `127.0.0.1:8081`, `http://127.0.0.1:8081`, `unix:/path`.
    init?(address: String, key: Secret?) {
        self.key = key
        if address.hasPrefix("unix:") {
            host = String(address.dropFirst(5))
            port = 0
            guard host.hasPrefix("/") else { return nil }
            return
        }
        var rest = Substring(address)
        if rest.hasPrefix("http://") { rest = rest.dropFirst(7) }
        rest = rest.prefix { $0 != "/" }
        guard let colon = rest.lastIndex(of: ":"), let port = UInt16(rest[rest.index(after: colon)...]) else { return nil }
        var name = rest[..<colon]
        if name.hasPrefix("["), name.hasSuffix("]") { name = name.dropFirst().dropLast() }
        guard !name.isEmpty else { return nil }
        // A wildcard address is reached on the loopback interface.
        host = name == "0.0.0.0" ? "127.0.0.1" : name == "::" ? "::1" : String(name)
        self.port = port
    }

    // MARK: Calls

    func call(_ method: String, _ path: String, body: [UInt8] = [], seconds: Int = 90) throws(SystemError) -> AdminAnswer {
        var request = Array("\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAccept-Language: en\r\n".utf8)
        if let key {
            request += Array("Authorization: Bearer ".utf8)
            key.withBytes { request += $0 }
            request += [0x0D, 0x0A]
        }
        if !body.isEmpty || method == "PUT" || method == "POST" {
            request += Array("Content-Type: application/json\r\nContent-Length: \(body.count)\r\n".utf8)
        }
        request += [0x0D, 0x0A] + body
        let reply = try BlockingSocket.ask(
            host: host, port: port, request: request, seconds: seconds, bytesMax: Self.answerBytesMax)
        return try Self.parse(reply)
    }

    /// The admin side frames its answers by length, and closes: what it did not send to the end is no answer.
    private static func parse(_ reply: [UInt8]) throws(SystemError) -> AdminAnswer {
        let lineEnd: [UInt8] = [0x0D, 0x0A]
        var headEnd = 0
        while headEnd + 4 <= reply.count, reply[headEnd..<headEnd + 4] != (lineEnd + lineEnd)[...] { headEnd += 1 }
        guard headEnd + 4 <= reply.count else { throw SystemError("read the answer", code: EPROTO) }
        let lines = String(decoding: reply[..<headEnd], as: UTF8.self).split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
            throw SystemError("read the answer", code: EPROTO)
        }
        let body = Array(reply[(headEnd + 4)...])
        for line in lines.dropFirst() where line.lowercased().hasPrefix("content-length:") {
            let length = Int(line.drop { $0 != ":" }.dropFirst().drop { $0 == " " })
            guard length == body.count else { throw SystemError("read the answer", code: EPROTO) }
        }
        return AdminAnswer(status: status, body: body)
    }

    /// The answer of a call that went well; nil after it was told what did not.
    func ask(_ method: String, _ path: String, body: [UInt8] = []) -> AdminAnswer? {
        do throws(SystemError) {
            let answer = try call(method, path, body: body)
            if answer.isGood { return answer }
            let failure = answer.json
            let message = failure?["detail"]?.text ?? "status \(answer.status)"
            let reason = failure?["reason"]?.text.map { " (\($0))" } ?? ""
            print(error: "\(message)\(reason)")
            for problem in failure?["problems"]?.items ?? [] { printToError(problem.text ?? "") }
            if answer.status == 401 { printToError("The key is in the gateway's log and key file; name it by --key env:NAME or file:PATH") }
        } catch {
            print(error: "the admin side can't be reached: \(error)")
        }
        return nil
    }

    /// A name as one segment of a path.
    static func segment(_ name: String) -> String {
        var text = ""
        for byte in name.utf8 {
            let isPlain = (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 || byte == 0x2D || byte == 0x2E || byte == 0x5F
            let digits = String(byte, radix: 16)
            text += isPlain ? String(UnicodeScalar(byte)) : "%\(digits.count == 1 ? "0" : "")\(digits)"
        }
        return text
    }
}
