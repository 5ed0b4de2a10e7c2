/** The methods that say who is in the workspace, shut somebody out, and look at what came from there too late. */
import * as z from 'zod'
import type { MemberListing, QuarantinedThread, RemovalResult } from '../node/api.ts'
import { by, type NoParams, noParams } from './params.ts'
import type { Method } from './schema.ts'
import * as shapes from './shapes.ts'

/** Method → parameters and result, as they travel. */
export interface RemovalMethods {
  'relay/members': { params: NoParams; result: { items: MemberListing[] } }
  'relay/remove': { params: { name: string }; result: RemovalResult }
  'relay/quarantine': { params: NoParams; result: { items: QuarantinedThread[] } }
  'relay/quarantine-admit': { params: { thread_id: string }; result: QuarantinedThread }
}

export const REMOVAL_METHODS: { readonly [M in keyof RemovalMethods]: Method<M> } = {
  'relay/members': { changes: 'nothing', parse: by(noParams), run: ({ api }) => api.members() },
  'relay/remove': {
    changes: 'human',
    parse: by(z.strictObject({ name: shapes.id })),
    run: ({ api }, { params }) => api.remove(params),
  },
  'relay/quarantine': { changes: 'nothing', parse: by(noParams), run: ({ api }) => api.listQuarantine() },
  'relay/quarantine-admit': {
    changes: 'human',
    parse: by(z.strictObject({ thread_id: shapes.id })),
    run: ({ api }, { params }) => api.admitQuarantined(params),
  },
}
