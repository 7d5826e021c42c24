import type {
  DescMethodBiDiStreaming,
  DescMethodUnary,
  DescService,
  Message,
  MessageInitShape,
} from "@bufbuild/protobuf";
import type { HandlerContext, MethodImpl } from "@connectrpc/connect";
import type { CallContext } from "./call-context.ts";
import { type EncodedMessage, encodeMessage } from "./encode-message.ts";

/** A method and what answers it, by whatever protocol the call came. What fails is the call's status, a ConnectError. */
export type GrpcRoute = UnaryRoute | StreamRoute;

export interface UnaryRoute {
  readonly kind: "unary";
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly method: DescMethodUnary;
  readonly answer: (request: Message, context: CallContext) => Promise<Init>;
  readonly encode: Encode;
}

export interface StreamRoute {
  readonly kind: "stream";
  readonly path: string;
  readonly method: DescMethodBiDiStreaming;
  readonly answer: (requests: AsyncIterable<Message>, context: CallContext) => AsyncIterable<Init>;
  readonly encode: Encode;
}

type Init = Record<string, unknown>;
type Encode = (response: Init) => EncodedMessage;

/** What answers the methods of a service. It asks less of the context than `@connectrpc/connect` gives. */
export type Implementation<Service extends DescService> = {
  readonly [Name in keyof Service["method"]]: MethodImpl<Service["method"][Name]> extends (
    request: infer Request,
    context: HandlerContext,
  ) => infer Answer
    ? (request: Request, context: CallContext) => Extract<Answer, Promise<unknown> | AsyncIterable<unknown>>
    : never;
};

/** Encoders that do better than `encodeMessage`. */
type Encoders<Service extends DescService> = {
  readonly [Name in keyof Service["method"]]?: (
    response: MessageInitShape<Service["method"][Name]["output"]>,
  ) => EncodedMessage;
};

/** The methods that are implemented. */
export function routesOf<Service extends DescService>(
  service: Service,
  implementation: Partial<Implementation<Service>>,
  encoders: Encoders<Service> = {},
): readonly GrpcRoute[] {
  return service.methods.flatMap((method): readonly GrpcRoute[] => {
    // The types of each method are at its name in both maps; here all methods of a kind are alike.
    const answer = (implementation as Record<string, unknown>)[method.localName];
    const encode =
      (encoders as Record<string, Encode | undefined>)[method.localName] ??
      ((response: Init) => encodeMessage(method.output, response));
    if (answer === undefined) return [];
    const path = `/${service.typeName}/${method.name}`;
    switch (method.methodKind) {
      case "unary":
        return [
          {
            kind: "unary",
            path,
            method: method as DescMethodUnary,
            answer: answer as UnaryRoute["answer"],
            encode,
          },
        ];
      case "bidi_streaming":
        return [
          {
            kind: "stream",
            path,
            method: method as DescMethodBiDiStreaming,
            answer: answer as StreamRoute["answer"],
            encode,
          },
        ];
      case "client_streaming":
      case "server_streaming":
        throw new Error(`invariant: nothing answers ${method.methodKind} methods`);
    }
  });
}
