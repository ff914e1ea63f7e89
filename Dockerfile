# One image for all processes; docker-compose.yml sets the process of each container.
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc tsconfig.json tsconfig.build.json ./
# The kit is an npm workspace, which npm ci builds.
COPY bridge bridge
RUN npm ci
COPY scripts scripts
COPY proto proto
COPY runtime runtime
COPY contract contract
COPY core core
COPY edge edge
COPY cli cli
COPY local local
COPY compose compose
COPY demo demo
COPY dashboard dashboard
# The edge serves the guides.
COPY docs docs
# --no-workspaces removes the link to the kit, whose folder the image does not have.
RUN npm run --silent build && npm prune --omit=dev --no-workspaces

FROM ${NODE_IMAGE}
# local/children.ts gives the reason for NODE_OPTIONS.
ENV NODE_ENV=production NODE_OPTIONS=--max-semi-space-size=64
WORKDIR /app
# A new volume gets its owner from the folder at its mount point.
RUN for each in kept redis core edge game chat operator cli; do mkdir -p "/secrets/$each"; done \
  && chown -R 1000:1000 /secrets
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json LICENSE ./
USER 1000:1000
ENTRYPOINT ["node"]
CMD ["dist/core/main.js"]
