// Who is at the other end of a socket.
// Domain: cold

import CryoIO
import Glibc
import Testing

@Suite("A socket")
struct SocketTests {
    @Test("only a UNIX socket tells a user")
    func peers() {
        var pair: [Int32] = [0, 0]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        #expect(Socket.peerUID(pair[0]) == getuid())
        let internet = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #expect(internet >= 0 && Socket.peerUID(internet) == nil)
        for descriptor in pair + [internet] { close(descriptor) }
    }
}
