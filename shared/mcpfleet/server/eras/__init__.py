"""The two eras of the protocol: each makes a `Caller` and an `Outlet`, and nothing behind them knows which."""
