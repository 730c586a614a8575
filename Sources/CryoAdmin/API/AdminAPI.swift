// The admin side as one table: every path, in the order in which the description lists them.
// Domain: cold

import CryoIO
import CryoPipeline

package final class AdminAPI: Sendable {
    let control: any GatewayControl
    let readers = Places(Places.readersMax)
    let replays = Places(Places.replaysMax)
    /// Tells the stream's numbers of this run from those of another.
    let run: String

    package init(_ control: any GatewayControl) {
        self.control = control
        run = String(UInt64(truncatingIfNeeded: Clock.unixMicroseconds()), radix: 36)
    }

    /// `more`: rows of other parts of the admin side.
    package func table(adding more: [AdminRoute] = []) -> AdminTable {
        let rows =
            pageRoutes + healthRoutes + exchangeRoutes + replayRoutes + tokenRoutes + sessionRoutes + upstreamRoutes
            + configurationRoutes + more
        let described = rows + [AdminDescription.route({ AdminDescription.text(of: rows, version: $0) }, control)]
        return AdminTable(described)
    }

    static let unauthorized = AdminRoute.Answer(401, "the admin key is missing or wrong", "Failure")
    static let notFound = AdminRoute.Answer(404, "there is nothing of that name", "Failure")
    static let malformed = AdminRoute.Answer(400, "the body is malformed", "Failure")
    static let refused = AdminRoute.Answer(409, "the state does not allow it", "Failure")

    static var unixSeconds: Int64 { Clock.unixSeconds() }
}
