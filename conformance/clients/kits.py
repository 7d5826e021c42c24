"""tritonclient's four clients behind one face, so that the same checks run on each."""

import asyncio
import inspect
import queue
import time

import gevent
import tritonclient.grpc
import tritonclient.grpc.aio
import tritonclient.http
import tritonclient.http.aio

LIBRARIES = {
    "http": tritonclient.http,
    "http.aio": tritonclient.http.aio,
    "grpc": tritonclient.grpc,
    "grpc.aio": tritonclient.grpc.aio,
}


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
    """`protocol` is http or grpc; `client` blocks, `raw` is the client as the library has it. `options` are the constructor's."""

    def __init__(self, name, url, **options):
        self.name = name
        self.protocol = name.split(".")[0]
        self.url = url
        self.library = LIBRARIES[name]
        self.is_aio = name.endswith(".aio")
        if self.is_aio:
            self.loop = asyncio.new_event_loop()
            self.raw = self.loop.run_until_complete(self._create(options))
            self.client = Blocking(self.raw, self.loop)
        else:
            concurrency = {"concurrency": 8} if self.protocol == "http" else {}
            self.raw = self.client = self.library.InferenceServerClient(url, **{**concurrency, **options})

    async def _create(self, options):
        return self.library.InferenceServerClient(self.url, **options)

    def close(self):
        self.client.close()
        if self.is_aio:
            self.loop.close()

    def another(self, **options):
        """A client of the same kind with options of its own, which the caller closes."""
        return Kit(self.name, self.url, **options)

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

    def config(self, model):
        told = self.told("get_model_config", model)
        return told["config"] if self.protocol == "grpc" else told

    def index(self):
        told = self.told("get_model_repository_index")
        return told["models"] if self.protocol == "grpc" else told

    def request_id(self, result):
        told = result.get_response()
        return told["id"] if self.protocol == "http" else told.id

    def compression(self, request, response=None):
        if self.protocol == "grpc":
            return {"compression_algorithm": request}
        return {"request_compression_algorithm": request, "response_compression_algorithm": response or request}

    def status(self, http, grpc):
        """How an error tells its status."""
        return http if self.protocol == "http" else f"StatusCode.{grpc}"

    def begin(self, model, inputs, **options):
        """Sends a request. What it gives waits for the result, or raises the error."""
        if self.is_aio:
            task = self.loop.create_task(self.raw.infer(model, inputs, **options))
            return lambda: self.loop.run_until_complete(task)
        if self.protocol == "http":
            return self.raw.async_infer(model, inputs, **options).get_result
        answers = queue.Queue()
        self.raw.async_infer(model, inputs, callback=lambda result, error: answers.put((result, error)), **options)

        def wait():
            result, error = answers.get(timeout=30)
            if error is not None:
                raise error
            return result

        return wait

    def together(self, requests):
        """Results or errors of requests that are all under way at once, in their order: (model, inputs, options) each."""

        def outcome(wait):
            try:
                return wait()
            except Exception as error:  # noqa: BLE001
                return error

        return [outcome(wait) for wait in [self.begin(model, inputs, **options) for model, inputs, options in requests]]

    def give_up(self, model, inputs, seconds):
        """Sends a request and gives it up after a while. What the client makes of it."""
        if self.is_aio:

            async def hasty():
                task = asyncio.ensure_future(self.raw.infer(model, inputs))
                await asyncio.sleep(seconds)
                task.cancel()
                try:
                    return await task
                except asyncio.CancelledError as error:
                    return error

            return self.loop.run_until_complete(hasty())
        if self.protocol == "http":
            hasty = self.library.InferenceServerClient(self.url, network_timeout=seconds)
            try:
                return hasty.infer(model, inputs)
            except Exception as error:  # noqa: BLE001
                return error
            finally:
                hasty.close()
        answers = queue.Queue()
        call = self.raw.async_infer(model, inputs, callback=lambda result, error: answers.put((result, error)))
        time.sleep(seconds)
        call.cancel()
        result, error = answers.get(timeout=10)
        return error or result

    def pause(self, seconds):
        """Lets time pass, and requests that have begun go on."""
        if self.is_aio:
            self.loop.run_until_complete(asyncio.sleep(seconds))
        elif self.protocol == "http":
            gevent.sleep(seconds)
        else:
            time.sleep(seconds)

    def streamed(self, requests, count):
        """So many responses to requests of one stream of gRPC."""
        if self.is_aio:

            async def iterate():
                for request in requests:
                    yield request

            async def read():
                answers = []
                async for result, error in self.raw.stream_infer(inputs_iterator=iterate(), stream_timeout=30):
                    if error is not None:
                        raise error
                    answers.append(result)
                return answers

            return self.loop.run_until_complete(read())
        answers = queue.Queue()
        with self.library.InferenceServerClient(self.url) as client:
            client.start_stream(callback=lambda result, error: answers.put((result, error)), stream_timeout=30)
            for request in requests:
                client.async_stream_infer(**request)
            read = [answers.get(timeout=30) for _ in range(count)]
        for _, error in read:
            if error is not None:
                raise error
        return [result for result, _ in read]
