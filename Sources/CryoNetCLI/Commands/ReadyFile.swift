// The file that tells scripts where the gateway listens and that it does.
// Domain: cold

import CryoConfig
import CryoGateway
import CryoIO
import Glibc

enum ReadyFile {
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
