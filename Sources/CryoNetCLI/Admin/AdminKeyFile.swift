// The file by which commands find a running gateway's admin side: `{"admin":"127.0.0.1:8081","key":"…","pid":4711}`, 0600.
// Domain: cold

import CryoConfig
import CryoGateway
import CryoIO
import CryoPipeline
import Glibc

enum AdminKeyFile {
    /// Larger files are none of ours.
    private static let bytesMax = 4096

    /// Beside the ready file, and in the user's runtime folder. A runtime folder that can't be used is told and left alone; a ready
    /// file's neighbour has been asked for.
    static func write(_ access: AdminAccess, readyFile: String?, log: Log) throws(GatewayError) -> [String] {
        var written: [String] = []
        if let readyFile {
            let path = beside(readyFile)
            try write(access, to: path)
            written.append(path)
        }
        guard let folder = runtimeFolder() else { return written }
        do throws(GatewayError) {
            try prepare(folder)
            let path = "\(folder)/\(getpid()).json"
            try write(access, to: path)
            written.append(path)
        } catch {
            log.warning("commands will need --admin and --key: \(error)")
        }
        return written
    }

    static func beside(_ readyFile: String) -> String { "\(readyFile).admin" }

    /// `$XDG_RUNTIME_DIR/cryonet`; nil where the system has no such folder.
    static func runtimeFolder() -> String? {
        guard let base = environment("XDG_RUNTIME_DIR"), base.hasPrefix("/") else { return nil }
        return "\(base)/cryonet"
    }

    /// A folder of another user could be used to hand us another file.
    private static func prepare(_ folder: String) throws(GatewayError) {
        if mkdir(folder, 0o700) != 0, errno != EEXIST { throw GatewayError("\(SystemError("can't make \(folder)"))") }
        var status = stat()
        guard lstat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(), status.st_mode & 0o022 == 0
        else {
            throw GatewayError("\(folder) is not a folder of this user alone")
        }
    }

    private static func write(_ access: AdminAccess, to path: String) throws(GatewayError) {
        // A configured key is where the configuration says: it is not written down a second time.
        let key = access.isKeyConfigured ? "null" : access.key.withBytes { quoted(String(decoding: $0, as: UTF8.self)) }
        let text = "{\"admin\":\(quoted(access.address)),\"key\":\(key),\"pid\":\(getpid())}\n"
        let aside = "\(path).\(getpid())"
        unlink(aside)
        let descriptor = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw GatewayError("\(SystemError("can't write \(aside)"))") }
        let bytes = Array(text.utf8)
        let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
        guard count == bytes.count, rename(aside, path) == 0 else {
            unlink(aside)
            throw GatewayError("\(SystemError("can't write \(path)"))")
        }
    }

    // MARK: Reading

    /// nil when there is no such file, or it is not one of ours.
    static func read(_ path: String) -> (address: String, key: String?, pid: Int32)? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: bytesMax)
        let count = fread(&bytes, 1, bytes.count, file)
        let node = YAMLDocument(Array(bytes[..<count])).root
        guard let address = node?["admin"]?.text, let pid = node?["pid"]?.integer else { return nil }
        return (address, node?["key"].flatMap { $0.isNull ? nil : $0.text }, Int32(clamping: pid))
    }

    /// Those of gateways that still run. A leftover of one that was killed is passed over.
    static func running() -> [(address: String, key: String?, pid: Int32)] {
        guard let folder = runtimeFolder(), let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var found: [(address: String, key: String?, pid: Int32)] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard name.hasSuffix(".json"), let one = read("\(folder)/\(name)"), kill(one.pid, 0) == 0 || errno == EPERM else { continue }
            found.append(one)
        }
        return found.sorted { $0.pid < $1.pid }
    }
}
