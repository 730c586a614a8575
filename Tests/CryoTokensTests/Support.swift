// What the token tests share: temporary directories, a token endpoint on the loopback, waiting for a refresh.

import CryoJSON
import CryoPipeline
import CryoSync
import CryoTokens
import Glibc

final class TemporaryDirectory {
    let path: String

    init() {
        var template = Array("/tmp/cryonet-test-XXXXXX".utf8CString)
        path = mkdtemp(&template).map { String(cString: $0) } ?? "/nonexistent"
    }

    deinit {
        for name in names { unlink("\(path)/\(name)") }
        rmdir(path)
    }

    func file(_ name: String) -> String { "\(path)/\(name)" }

    @discardableResult
    func write(_ name: String, _ text: String, mode: mode_t = 0o600) -> String {
        let descriptor = open(file(name), O_WRONLY | O_CREAT | O_TRUNC, mode)
        _ = text.withCString { Glibc.write(descriptor, $0, strlen($0)) }
        fchmod(descriptor, mode)
        close(descriptor)
        return file(name)
    }

    func read(_ name: String) -> String? {
        guard let stream = fopen(file(name), "r") else { return nil }
        defer { fclose(stream) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = fread(&bytes, 1, bytes.count, stream)
        return String(decoding: bytes[..<count], as: UTF8.self)
    }

    func mode(_ name: String) -> UInt32 {
        var status = stat()
        return stat(file(name), &status) == 0 ? UInt32(status.st_mode & 0o7777) : 0
    }

    var names: [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }
}

struct SeenRequest: Sendable {
    var head: String
    var body: String

    func header(_ name: String) -> String? {
        for line in head.split(separator: "\r\n").dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts[0].lowercased() == name.lowercased(), parts.count == 2 { return String(parts[1].drop { $0 == " " }) }
        }
        return nil
    }
}

/// An HTTP server with scripted answers: one thread, one connection after the other, each closed after its answer.
final class LoopbackEndpoint: Sendable {
    let port: UInt16
    private let listener: Int32
    private let seen = Mutex<[SeenRequest]>([])
    private let answers: Mutex<[String]>

    /// Answers are whole HTTP answers; the last one is repeated. An empty one closes the connection without a byte.
    init(_ answers: String...) {
        self.answers = Mutex(answers)
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = listener
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = bind(descriptor, $0, length)
                _ = listen(descriptor, 64)
                _ = getsockname(descriptor, $0, &length)
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        let box = Unmanaged.passRetained(self)
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<LoopbackEndpoint>.fromOpaque(argument).takeRetainedValue().serve()
                return nil
            }, box.toOpaque())
        pthread_detach(thread)
    }

    var url: String { "http://127.0.0.1:\(port)/token" }
    var requests: [SeenRequest] { seen.withLock { $0 } }

    func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

    /// Says nothing until the other side hangs up.
    static let silence = "silence"

    private func serve() {
        var byte: UInt8 = 0
        while true {
            let client = accept(listener, nil, nil)
            if client < 0 { break }
            if let request = Self.read(client) {
                seen.withLock { $0.append(request) }
                let answer = answers.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
                if answer == Self.silence { _ = recv(client, &byte, 1, 0) }
                var rest = Array(answer == Self.silence ? "".utf8 : answer.utf8)[...]
                while !rest.isEmpty {
                    let count = rest.withUnsafeBytes { send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                    if count <= 0 { break }
                    rest = rest.dropFirst(count)
                }
            }
            shutdown(client, Int32(SHUT_WR))
            close(client)
        }
        close(listener)
    }

    private static func read(_ client: Int32) -> SeenRequest? {
        var text = ""
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            if let end = text.range(of: "\r\n\r\n") {
                let request = SeenRequest(head: String(text[..<end.lowerBound]), body: String(text[end.upperBound...]))
                if request.body.utf8.count >= Int(request.header("Content-Length") ?? "0") ?? 0 { return request }
            }
            let count = recv(client, &buffer, buffer.count, 0)
            if count <= 0 { return nil }
            text += String(decoding: buffer[..<count], as: UTF8.self)
        }
    }
}

extension String {
    fileprivate func range(of mark: String) -> Range<String.Index>? {
        let bytes = Array(utf8)
        let wanted = Array(mark.utf8)
        guard bytes.count >= wanted.count else { return nil }
        for start in 0...(bytes.count - wanted.count) where bytes[start...].starts(with: wanted) {
            return utf8.index(startIndex, offsetBy: start)..<utf8.index(startIndex, offsetBy: start + wanted.count)
        }
        return nil
    }

    func holds(_ part: String) -> Bool { range(of: part) != nil }
}

func answer(_ status: Int, _ body: String, type: String = "application/json", more: String = "") -> String {
    "HTTP/1.1 \(status) Word\r\nContent-Type: \(type)\r\n\(more)Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)"
}

func refresh(_ refresher: any TokenRefresher, _ current: Credential? = nil) async -> RefreshResult {
    await withCheckedContinuation { continuation in refresher.refresh(current) { continuation.resume(returning: $0) } }
}

func credential(_ token: String, refreshToken: String? = nil) -> Credential {
    Credential(
        token: Secret(token), refreshToken: refreshToken.map { Secret($0) }, expiresAt: nil, version: 1, revision: .random(),
        injectedValue: [])
}

extension Secret {
    var text: String { withBytes { String(decoding: $0, as: UTF8.self) } }
}

/// A result in one line, with its secrets, for comparison.
func text(of result: RefreshResult) -> String {
    switch result {
    case .renewed(let new): "renewed \(new.token.text) \(new.refreshToken?.text ?? "-")"
    case .unchanged: "unchanged"
    case .rejected(let detail): "rejected: \(detail)"
    case .failed(let detail): "failed: \(detail)"
    }
}

final class Reports: Sendable {
    private let list = Mutex<[TokenReport]>([])

    var all: [TokenReport] { list.withLock { $0 } }

    func add(_ report: TokenReport) { list.withLock { $0.append(report) } }
}

func load(_ settings: TokenSettings, _ reports: Reports = Reports()) throws -> LoadedTokenSource {
    try TokenSourceFactory.make(settings, report: { reports.add($0) }).get()
}
