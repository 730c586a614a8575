// `openssl s_server` with a certificate made for the test, as an upstream with TLS.
// Domain: cold

import CryoTestSupport
import Foundation
import Glibc

final class TLSServer {
    let port: UInt16
    let caFile: String
    /// `sha256/BASE64` of the public key.
    let pin: String
    private let process: Process
    private let directory: URL

    /// nil when there is no `openssl` command.
    init?() {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try? FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let key = directory.appendingPathComponent("key.pem").path
        caFile = directory.appendingPathComponent("certificate.pem").path
        let make = """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout \(key) -out \(caFile) -days 2 \
            -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 2>/dev/null && openssl x509 -in \(caFile) -noout -pubkey \
            | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | openssl base64
            """
        let shell = Process()
        let output = Pipe()
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments = ["-c", make]
        shell.standardOutput = output
        guard (try? shell.run()) != nil else { return nil }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        shell.waitUntilExit()
        guard shell.terminationStatus == 0 else { return nil }
        pin = "sha256/" + text.trimmingCharacters(in: .whitespacesAndNewlines)

        process = Process()
        let server = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = ["s_server", "-accept", "127.0.0.1:0", "-www", "-cert", caFile, "-key", key]
        process.standardOutput = server
        process.standardError = FileHandle.nullDevice
        process.standardInput = Pipe()
        guard (try? process.run()) != nil else { return nil }
        var seen = ""
        var found: UInt16?
        while found == nil {
            let part = server.fileHandleForReading.availableData
            if part.isEmpty { return nil }
            seen += String(decoding: part, as: UTF8.self)
            for line in seen.split(separator: "\n").dropLast(seen.hasSuffix("\n") ? 0 : 1) where line.hasPrefix("ACCEPT ") {
                found = line.split(separator: ":").last.flatMap { UInt16($0) }
            }
        }
        guard let found else { return nil }
        port = found
    }

    func stop() {
        // The child inherits blocked signals, so that asking it to end may not reach it.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: directory)
    }
}
