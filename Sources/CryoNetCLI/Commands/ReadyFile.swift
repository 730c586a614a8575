// The file that tells scripts where the gateway listens and that it does.
// Domain: cold

import CryoConfig
import CryoGateway
import CryoIO
import Glibc

enum ReadyFile {
    /// A larger file is none of ours.
    private static let bytesMax = 64 << 10

    /// The first address of a gateway's ready file.
    static func listen(_ path: String) -> String? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: bytesMax)
        let count = fread(&bytes, 1, bytes.count, file)
        return YAMLDocument(Array(bytes[..<count])).root?["listen"]?.items.first?.text
    }

    /// Written aside and renamed, so that a reader sees all of it or nothing.
    static func write(_ path: String, _ addresses: [String], admin: String? = nil) throws(GatewayError) {
        let list = addresses.map { quoted($0) }.joined(separator: ",")
        let text = "{\"listen\":[\(list)],\"admin\":\(admin.map(quoted) ?? "null"),\"pid\":\(getpid())}\n"
        let aside = "\(path).\(getpid())"
        guard let file = fopen(aside, "w") else { throw GatewayError("\(SystemError("can't write \(aside)"))") }
        fputs(text, file)
        let isWritten = fclose(file) == 0
        guard isWritten, rename(aside, path) == 0 else { throw GatewayError("\(SystemError("can't write \(path)"))") }
    }
}
