"""tritonclient's four clients behind one face, so that the same checks run on each."""

import asyncio
import inspect

import tritonclient.grpc
import tritonclient.grpc.aio
import tritonclient.http
import tritonclient.http.aio


class Blocking:
    """A client of asyncio whose calls wait for their results."""

    def __init__(self, client, loop):
        self.client = client
        self.loop = loop

    def __getattr__(self, name):
        member = getattr(self.client, name)
        if not inspect.iscoroutinefunction(member):
            return member

        def call(*arguments, **options):
            return self.loop.run_until_complete(member(*arguments, **options))

        return call


class Kit:
    """`protocol` is http or grpc; `client` blocks, `raw` is the client as the library has it."""

    def __init__(self, name, urls):
        self.name = name
        self.protocol = name.split(".")[0]
        self.url = urls[self.protocol]
        self.library = {
            "http": tritonclient.http,
            "http.aio": tritonclient.http.aio,
            "grpc": tritonclient.grpc,
            "grpc.aio": tritonclient.grpc.aio,
        }[name]
        self.is_aio = name.endswith(".aio")
        if self.is_aio:
            self.loop = asyncio.new_event_loop()
            self.raw = self.loop.run_until_complete(self._create())
            self.client = Blocking(self.raw, self.loop)
        else:
            options = {"concurrency": 8} if self.protocol == "http" else {}
            self.raw = self.client = self.library.InferenceServerClient(self.url, **options)

    async def _create(self):
        return self.library.InferenceServerClient(self.url)

    def close(self):
        self.client.close()
        if self.is_aio:
            self.loop.close()

    def input(self, name, array, datatype, binary=True):
        tensor = self.library.InferInput(name, list(array.shape), datatype)
        if self.protocol == "http":
            tensor.set_data_from_numpy(array, binary_data=binary)
        else:
            tensor.set_data_from_numpy(array)
        return tensor

    def output(self, name, binary=True, class_count=0):
        options = {"binary_data": binary} if self.protocol == "http" else {}
        return self.library.InferRequestedOutput(name, class_count=class_count, **options)

    def told(self, method, *arguments, **options):
        """What a method that reads something tells, as plain data."""
        if self.protocol == "grpc":
            options["as_json"] = True
        return getattr(self.client, method)(*arguments, **options)

    def compression(self, algorithm):
        if self.protocol == "grpc":
            return {"compression_algorithm": algorithm}
        return {
            "request_compression_algorithm": algorithm,
            "response_compression_algorithm": algorithm,
        }
