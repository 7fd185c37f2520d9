"""The only code that runs in a worker process: channel, preparation, batching, sampling, engine."""
