// An errno and the call that set it. The only place that reads errno for an error message.
// Domain: pure

import Glibc

package struct SystemError: Error, CustomStringConvertible {
    package let call: String
    package let code: Int32

    /// Takes the present errno.
    package init(_ call: String) {
        self.call = call
        code = errno
    }

    package init(_ call: String, code: Int32) {
        self.call = call
        self.code = code
    }

    package var description: String { "\(call): \(text)" }

    /// Without the call, for messages that name what failed better.
    var text: String { strerror(code).map { String(cString: $0).lowercased() } ?? "error \(code)" }
}
