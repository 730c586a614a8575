// Replays for the admin side: a head that the read step takes, run on one of the workers.
// Domain: cold

package import CryoAdmin
import CryoConfig
import CryoHTTP
import CryoIO
import CryoPipeline

extension Gateway {
    package var clientAddress: ClientAddress {
        let settings = present.configuration.listen
        let scheme = settings.tls == nil ? "http" : "https"
        guard let bound = boundAddress, !bound.hasPrefix("unix:") else {
            guard case .unix(let path) = settings.address else { return ClientAddress(base: "\(scheme)://localhost") }
            return ClientAddress(base: "\(scheme)://localhost", unixSocket: path)
        }
        return ClientAddress(base: "\(scheme)://\(bound)")
    }

    package func replay(_ request: ReplayRequest, completion: @escaping @Sendable (Result<ReplayAnswer, ReplayRefusal>) -> Void) {
        let composition = present
        let head: RequestHead
        do throws(ReplayRefusal) {
            let bytes = try request.head(
                defaultHost: composition.configuration.listen.hosts.first ?? "localhost", clientKey: composition.plan.clientKey)
            head = try Self.parse(bytes)
        } catch {
            return completion(.failure(error))
        }
        let port = boundAddress.flatMap { $0.split(separator: ":").last.flatMap { UInt16($0) } } ?? 0
        run(head, request.body, composition.plan, localPort: port) { completion(.success($0)) }
    }

    /// By the rules that hold for every client.
    private static func parse(_ bytes: [UInt8]) throws(ReplayRefusal) -> RequestHead {
        var parser = RequestParser()
        switch bytes.withUnsafeBytes({ parser.parse($0) }) {
        case .head(let head, _): return head
        case .refused(let refusal): throw ReplayRefusal("the request can't be sent: \(refusal.reason)")
        case .needsMore: throw ReplayRefusal("the request can't be sent: its head has no end")
        }
    }
}
