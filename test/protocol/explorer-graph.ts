/** Graphs of which the explorer goes on in more than one direction. */
import type { Graph } from '../../protocol/index.ts'

/** A graph of its own with the same nodes. */
export function copyGraph(graph: Graph): Graph {
  const { byKind: of } = graph
  return {
    nodes: [...graph.nodes],
    byId: new Map(graph.byId),
    byDevice: new Map([...graph.byDevice].map(([device, own]) => [device, [...own]])),
    byKind: {
      create: [...of.create],
      accept: [...of.accept],
      cancel: [...of.cancel],
      complete: [...of.complete],
      message: [...of.message],
      revise: [...of.revise],
      annotate: [...of.annotate],
      resolve: [...of.resolve],
      approve: [...of.approve],
      share: [...of.share],
      wrap: [...of.wrap],
      ack: [...of.ack],
      fence: [...of.fence],
    },
    heads: new Set(graph.heads),
    forked: new Set(graph.forked),
  }
}
