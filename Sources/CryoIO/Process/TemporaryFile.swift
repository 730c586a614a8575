// An unnamed file for bytes that do not fit into memory: gone when it is closed, also when the process is killed.
// Domain: worker

import CEpoll
import Glibc

package final class TemporaryFile {
    private let descriptor: Int32
    private var isClosed = false

    /// Opens in `directory`, which must allow unlinked files; nil when it can't (full, read-only, missing).
    package init?(directory: String) {
        var template = Array("\(directory)/cryonet-XXXXXX".utf8CString)
        let descriptor = cryo_open_temporary(&template)
        guard descriptor >= 0 else { return nil }
        unlink(template)
        self.descriptor = descriptor
    }

    deinit { close() }

    /// False when the disk does not take all of it.
    package func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = write(descriptor, rest.baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
        return true
    }

    /// The number of bytes read at `offset`; 0 at the end, negative on failure.
    package func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        while true {
            let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(clamping: offset))
            if count < 0, errno == EINTR { continue }
            return count
        }
    }

    package func close() {
        guard !isClosed else { return }
        isClosed = true
        _ = Glibc.close(descriptor)
    }
}
