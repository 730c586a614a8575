// Leaves a mark beside a store file while its pair is being refreshed, so that a start after a kill in between knows of it.
// Domain: cold (on the token's own queue)
//
// Between the endpoint's answer and the file there is a window that no client can close: whoever dies in it has used up the refresh
// token that is on the disk. Endpoints that accept the last one for a grace period bridge it. The mark only lets us say it.

package import CryoPipeline

package struct MarkedTokenSource: TokenRefresher {
    let inner: any TokenRefresher
    let keeper: PairKeeper
    let store: TokenStoreFile

    package var canRefresh: Bool { inner.canRefresh }
    package var canIssue: Bool { inner.canIssue }

    package func refresh(_ current: Credential?, completion: @escaping @Sendable (RefreshResult) -> Void) {
        store.setMark()
        inner.refresh(current) { result in
            // A pair that is not on disk yet leaves the old one there, which is used up.
            if keeper.isWritten { store.clearMark() }
            completion(result)
        }
    }
}
