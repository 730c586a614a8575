// Step reply: the end of an answer that would have carried one of the gateway's secrets to the client.
// Domain: worker

extension Exchange {
    /// Whether the answer was stopped in what was sent last.
    var isAnswerBlocked: Bool { echo?.isBlocked ?? false }

    /// A failure in its place where nothing of it has gone out; else the connection is cut.
    func endBlockedAnswer() {
        guard let guarding = echo as? EchoGuard else { return }
        let answer = guarding.takeBlocked()
        cancelAttempt()
        held = HeldBody()
        business = nil
        underlyingDetail = nil
        var outcomes = self.outcomes
        switch answer {
        case .replaceable:
            outcomes.reply = .sent
            earlyOutcomes = outcomes
            replyFailure(.secretEchoed, status: nil)
        case .begun(let bytes):
            bytesSent = bytes
            outcomes.reply = .truncated
            earlyOutcomes = outcomes
            failure = makeFailure(.secretEchoed, status: nil)
            tellHooksOfUnsentFailure()
            abortReply()
        }
    }
}
