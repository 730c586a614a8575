// What `cryonet demo` prints: commands to try, and what each shows.
// Domain: cold

enum DemoGuide {
    static func text(address: String, inspector: String, auditFile: String) -> String {
        """
        The gateway listens on http://\(address); the demo API is behind it. What passes is shown, live, at

          \(inspector)

        Try, in another terminal:

          # The token is injected; the app sends none.
          curl http://\(address)/news/list

          # The API revokes the token; the gateway refreshes it once and replays the request.
          curl -X POST http://\(address)/demo/revoke
          curl http://\(address)/news/list

          # A 200 that is no success: {"code":40013,"msg":"余额不足"} becomes a failure JSON with status 422.
          curl -i http://\(address)/orders/pay

          # Only the data of the envelope.
          curl http://\(address)/data/news/list

          # Failures of every kind have one shape.
          curl http://\(address)/broken/html
          curl http://\(address)/session/kicked

          # Events as they come, and an upload.
          curl -N http://\(address)/events
          head -c 1000000 /dev/zero | curl -T - http://\(address)/upload

          # One line per exchange, without secrets.
          tail -n 3 \(auditFile)

        Ctrl-C ends it.
        """
    }
}
