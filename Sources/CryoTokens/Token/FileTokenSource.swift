// A token in a file that somebody else renews: refreshing is reading it again.
// Domain: cold (its own serial queue)

package import CryoPipeline
import Dispatch

package final class FileTokenSource: TokenRefresher {
    private let path: String
    private let queue: DispatchQueue

    package init(path: String, name: String) {
        self.path = path
        queue = DispatchQueue(label: "cryonet.token.\(name)")
    }

    package var canRefresh: Bool { true }

    package func refresh(_ current: Credential?, completion: @escaping @Sendable (RefreshResult) -> Void) {
        queue.async { [path] in
            switch SecretResolver.file(path) {
            case .failure(let problem): completion(.failed(detail: String(describing: problem)))
            case .success(let token):
                let isSame = current.map { $0.token.matches(token) } ?? false
                completion(isSame ? .unchanged : .renewed(NewCredential(token: token)))
            }
        }
    }
}
