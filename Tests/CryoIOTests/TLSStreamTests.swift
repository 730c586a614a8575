// TLS streams against each other, in memory: no socket, no clock.
// Domain: cold

import Foundation
import Testing

@testable import CryoIO

/// An authority and certificates made by the openssl command, once for all tests.
private enum Certificates {
    static let folder: String = {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("cryonet-tls-\(getpid())").path
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        for name in ["server", "other", "client"] {
            openssl(
                "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=\(name) -keyout \(path)/\(name).key"
                    + " -out \(path)/\(name).pem")
        }
        openssl("pkey -in \(path)/server.key -aes256 -passout pass:secret -out \(path)/locked.key")
        _ = FileManager.default.createFile(atPath: "\(path)/empty.pem", contents: Data())
        return path
    }()

    private static func openssl(_ arguments: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = arguments.split(separator: " ").map(String.init)
        process.standardError = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try? process.run()
        process.waitUntilExit()
    }

    static func files(_ name: String, clientCA: String? = nil) -> TLSFiles {
        TLSFiles(certificate: "\(folder)/\(name).pem", key: "\(folder)/\(name).key", clientCA: clientCA.map { "\(folder)/\($0).pem" })
    }
}

/// Two streams and the wire between them.
private struct Pair {
    let server: TLSStream
    let client: TLSStream

    init(server: TLSContext, client: TLSContext) throws {
        self.server = try #require(TLSStream(server))
        self.client = try #require(TLSStream(client))
    }

    init() throws {
        try self.init(server: try TLSContext(Certificates.files("server")), client: try TLSContext(unverifiedClientOffering: http11))
    }

    /// Moves ciphertext in pieces of that size.
    func move(_ from: TLSStream, _ to: TLSStream, pieceBytes: Int = .max) {
        while from.pendingCount > 0 {
            from.sendPending { bytes in
                let piece = UnsafeRawBufferPointer(rebasing: bytes.prefix(pieceBytes))
                return to.feed(piece) ? piece.count : 0
            }
        }
    }

    /// What each side says in the end.
    func shakeHands(pieceBytes: Int = .max) -> (server: TLSHandshake, client: TLSHandshake) {
        var last: (TLSHandshake, TLSHandshake) = (.wantsMore, .wantsMore)
        for _ in 0..<6 {
            last.1 = client.handshake()
            move(client, server, pieceBytes: pieceBytes)
            last.0 = server.handshake()
            move(server, client, pieceBytes: pieceBytes)
        }
        return last
    }
}

private let http11: [UInt8] = [8] + Array("http/1.1".utf8)
private let h2: [UInt8] = [2] + Array("h2".utf8)

private func read(_ stream: TLSStream, bytesMax: Int = 65_536) -> (TLSRead, [UInt8]) {
    var buffer = [UInt8](repeating: 0, count: bytesMax)
    let result = buffer.withUnsafeMutableBytes { stream.read(into: $0) }
    if case .bytes(let count) = result { return (result, Array(buffer[..<count])) }
    return (result, [])
}

private func encrypt(_ stream: TLSStream, _ bytes: [UInt8]) -> Int? { bytes.withUnsafeBytes { stream.encrypt($0) } }

@Suite struct TLSStreamTests {
    @Test("A handshake succeeds however its bytes are cut, and agrees on TLS 1.3 and http/1.1", arguments: [1, 7, 100, .max])
    func handshake(pieceBytes: Int) throws {
        let pair = try Pair()
        #expect(pair.shakeHands(pieceBytes: pieceBytes) == (.done, .done))
        #expect(pair.server.version == "TLSv1.3")
        #expect(pair.client.applicationProtocol == Array("http/1.1".utf8))
        #expect(!pair.server.isHandshaking)
    }

    @Test("TLS 1.2 is spoken, TLS 1.1 is not")
    func versions() throws {
        let server = try TLSContext(Certificates.files("server"))
        let pair = try Pair(server: server, client: try TLSContext(unverifiedClientOffering: [], versionMax: 0x0303))
        #expect(pair.shakeHands() == (.done, .done))
        #expect(pair.server.version == "TLSv1.2")
        let old = try #require(TLSStream(server))
        // The head of a TLS 1.1 ClientHello with one cipher.
        var hello: [UInt8] = [22, 3, 1, 0, 45, 1, 0, 0, 41, 3, 2]
        hello += [UInt8](repeating: 7, count: 32) + [0, 0, 2, 0xC0, 0x13, 1, 0]
        #expect(hello.withUnsafeBytes { old.feed($0) })
        #expect(old.handshake() == .failed)
    }

    @Test("A client that offers only h2 is refused with an alert, one that offers nothing is not")
    func protocols() throws {
        let server = try TLSContext(Certificates.files("server"))
        let wrong = try Pair(server: server, client: try TLSContext(unverifiedClientOffering: h2))
        #expect(wrong.shakeHands() == (.failed, .failed))
        let both = try Pair(server: server, client: try TLSContext(unverifiedClientOffering: h2 + http11))
        #expect(both.shakeHands() == (.done, .done))
        #expect(both.client.applicationProtocol == Array("http/1.1".utf8))
        let none = try Pair(server: server, client: try TLSContext(unverifiedClientOffering: []))
        #expect(none.shakeHands() == (.done, .done))
        #expect(none.client.applicationProtocol == [])
    }

    @Test("With a client authority only a client with its certificate gets through")
    func clientCertificates() throws {
        let server = try TLSContext(Certificates.files("server", clientCA: "client"))
        let known = try Pair(server: server, client: try TLSContext(identity: Certificates.files("client")))
        #expect(known.shakeHands() == (.done, .done))
        for identity in [nil, Certificates.files("other")] {
            let stranger = try Pair(server: server, client: try TLSContext(identity: identity))
            #expect(stranger.shakeHands().server == .failed)
        }
    }

    @Test("Plaintext arrives whole in both directions, and a read stops at the end of its buffer")
    func transfer() throws {
        let pair = try Pair()
        _ = pair.shakeHands()
        let sent = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        var at = 0
        var received: [UInt8] = []
        while at < sent.count {
            let taken = try #require(encrypt(pair.client, Array(sent[at...])))
            #expect(taken <= TLSStream.plaintextBytesMax)
            at += taken
            pair.move(pair.client, pair.server, pieceBytes: 1000)
            while pair.server.mayHavePlaintext {
                let (result, bytes) = read(pair.server, bytesMax: 10_000)
                if result == .wantsMore { break }
                #expect(bytes.count <= 10_000)
                received += bytes
            }
        }
        #expect(received == sent)
        #expect(read(pair.server).0 == .wantsMore)
        #expect(encrypt(pair.server, Array("pong".utf8)) == 4)
        pair.server.trim()
        pair.move(pair.server, pair.client)
        #expect(read(pair.client).1 == Array("pong".utf8))
        pair.server.trim()
        #expect(encrypt(pair.client, Array("ping".utf8)) == 4)
        pair.move(pair.client, pair.server)
        #expect(read(pair.server).1 == Array("ping".utf8))
    }

    @Test("close_notify is the end, bytes before it are not lost, and it is said once")
    func end() throws {
        let pair = try Pair()
        _ = pair.shakeHands()
        _ = encrypt(pair.client, Array("last".utf8))
        pair.client.end()
        let count = pair.client.pendingCount
        pair.client.end()
        #expect(pair.client.pendingCount == count)
        pair.move(pair.client, pair.server)
        #expect(read(pair.server).1 == Array("last".utf8))
        #expect(read(pair.server).0 == .end)
        #expect(read(pair.server).0 == .end)
        #expect(encrypt(pair.server, Array("answer".utf8)) == 6)
    }

    @Test("A changed byte breaks the connection for good")
    func changed() throws {
        let pair = try Pair()
        _ = pair.shakeHands()
        _ = read(pair.client)
        _ = encrypt(pair.client, Array("hello".utf8))
        pair.client.sendPending { bytes in
            var wire = Array(bytes)
            wire[wire.count - 1] ^= 1
            _ = wire.withUnsafeBytes { pair.server.feed($0) }
            return bytes.count
        }
        #expect(read(pair.server).0 == .failed)
        #expect(read(pair.server).0 == .failed)
        #expect(pair.server.pendingCount > 0)
    }

    @Test("Plain HTTP is told from a broken handshake, and no bytes trap", arguments: ["GET / HTTP/1.1\r\n\r\n", "DELETE", "O"])
    func plain(text: String) throws {
        let context = try TLSContext(Certificates.files("server"))
        let stream = try #require(TLSStream(context))
        _ = Array(text.utf8).withUnsafeBytes { stream.feed($0) }
        #expect(stream.handshake() == .plainHTTP)
        var state: UInt64 = 88_172_645_463_325_252
        for _ in 0..<200 {
            let stream = try #require(TLSStream(context))
            let noise = (0..<300).map { index -> UInt8 in
                state ^= state << 13
                state ^= state >> 7
                state ^= state << 17
                return index == 0 ? 22 : UInt8(truncatingIfNeeded: state)
            }
            _ = noise.withUnsafeBytes { stream.feed($0) }
            #expect(stream.handshake() != .done)
        }
    }

    @Test("Sent ciphertext is forgotten only as far as it was taken")
    func partly() throws {
        let pair = try Pair()
        _ = pair.shakeHands()
        _ = encrypt(pair.client, [UInt8](repeating: 1, count: 20_000))
        let before = pair.client.pendingCount
        pair.client.sendPending { _ in 0 }
        #expect(pair.client.pendingCount == before)
        pair.client.sendPending { _ in 9_999 }
        #expect(pair.client.pendingCount == before - 9_999)
    }

    @Test("Files that can't be used are named, and nobody is asked for a passphrase")
    func files() throws {
        let folder = Certificates.folder
        func message(_ files: TLSFiles) -> String {
            do {
                _ = try TLSContext(files)
                return "accepted"
            } catch {
                return error.description
            }
        }
        var files = Certificates.files("server")
        #expect(message(files) == "accepted")
        files.certificate = "\(folder)/none.pem"
        #expect(message(files) == "can't read the tls certificate \(folder)/none.pem: no such file or directory")
        files.certificate = "\(folder)/empty.pem"
        #expect(message(files).hasPrefix("can't use the tls certificate \(folder)/empty.pem: "))
        files = Certificates.files("server")
        files.key = "\(folder)/other.key"
        #expect(message(files).contains("\(folder)/other.key"))
        files.key = "\(folder)/locked.key"
        #expect(message(files).hasPrefix("can't use the tls key \(folder)/locked.key: "))
        files = Certificates.files("server", clientCA: "empty")
        #expect(message(files).hasPrefix("can't use the tls client_ca \(folder)/empty.pem: "))
        files = Certificates.files("server", clientCA: "none")
        #expect(message(files) == "can't read the tls client_ca \(folder)/none.pem: no such file or directory")
    }
}
