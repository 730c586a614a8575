// Makes the exchanges of the admin listener, with the door and the table they are judged by.
// Domain: shared

import CryoHTTP
package import CryoPipeline
import CryoSync
import Dispatch

/// Runs behind the same connections as the data side: framing, limits and deadlines are theirs.
package final class AdminAcceptor: RequestAcceptor {
    let table: AdminTable
    /// Handlers run here, one after the other; what takes long answers later.
    let queue = DispatchQueue(label: "cryonet.admin")
    /// Hides every live secret in a body that goes out.
    let scrub: @Sendable (inout [UInt8]) -> Void
    private let door: Mutex<AdminDoor>

    package init(table: AdminTable, door: AdminDoor, scrub: @escaping @Sendable (inout [UInt8]) -> Void) {
        self.table = table
        self.door = Mutex(door)
        self.scrub = scrub
    }

    /// For requests that come from now on.
    package func replaceDoor(_ door: AdminDoor) { self.door.withLock { $0 = door } }

    package func consumer(for arrival: RequestArrival, in context: ConnectionContext) -> any RequestConsumer {
        AdminExchange(arrival, acceptor: self, door: door.withLock { $0 }, context: context)
    }
}
