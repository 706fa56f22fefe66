import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.StreamsGroupDescription;
import org.apache.kafka.clients.admin.StreamsGroupMemberAssignment;
import org.apache.kafka.clients.admin.StreamsGroupMemberDescription;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.message.StreamsGroupHeartbeatRequestData;
import org.apache.kafka.common.message.StreamsGroupHeartbeatResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.StreamsGroupHeartbeatRequest;
import org.apache.kafka.common.requests.StreamsGroupHeartbeatResponse;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Makes groups, transactions and metadata of all kinds, keeps them going, and writes down what Kafka's tools say of them meanwhile.
 *
 * <p>A command a line on standard input, an answer a line on standard output, as in Lab. The program ends with its input and without an
 * orderly end, so that members stay in their groups and a transaction stays open.
 */
public final class Views {
    private static final Duration POLL = Duration.ofMillis(100);
    private static final long PATIENCE_MS = 60_000;

    private final String bootstrap;
    private final Admin admin;

    private Views(String bootstrap) {
        this.bootstrap = bootstrap;
        this.admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        Views views = null;
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] parts = line.split("\t", -1);
            try {
                String answer = "";
                switch (parts[0]) {
                    case "connect" -> views = new Views(parts[1]);
                    case "setup" -> views.setup();
                    case "producer" -> answer = views.producerOf(parts[1]);
                    case "ask" -> answer = views.ask(Path.of(parts[1]), parts[2]);
                    default -> throw new IllegalArgumentException("unknown command " + parts[0]);
                }
                answers.println("ok\t" + answer);
            } catch (Throwable thrown) {
                thrown.printStackTrace();
                Throwable cause = thrown.getCause() == null ? thrown : thrown.getCause();
                answers.println("error\t" + cause.toString().replace('\n', ' ').replace('\t', ' '));
            }
        }
        Runtime.getRuntime().halt(0);
    }

    // ---------------------------------------------------------------- what there is

    private void setup() throws Exception {
        topics();
        records();
        transactions();
        groups();
        metadata();
    }

    private void topics() throws Exception {
        List<NewTopic> topics = new ArrayList<>();
        topics.add(new NewTopic("orders", 2, (short) 1).configs(Map.of("retention.ms", "86400000", "retention.bytes", "1000")));
        topics.add(new NewTopic("payments", 1, (short) 1).configs(Map.of("internal.segment.bytes", "2048", "retention.bytes", "4096")));
        topics.add(new NewTopic("aged", 1, (short) 1).configs(Map.of("internal.segment.bytes", "2048")));
        topics.add(new NewTopic("stuck", 1, (short) 1));
        topics.add(new NewTopic("kept", 1, (short) 1).configs(Map.of("cleanup.policy", "compact")));
        topics.add(new NewTopic("dropped", 1, (short) 1).configs(Map.of("retention.ms", "1000")));
        admin.createTopics(topics).all().get();
        Thread.sleep(500);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private KafkaProducer<byte[], byte[]> producer(String transactionalId) {
        Map<String, Object> config = new HashMap<>(Map.of("bootstrap.servers", bootstrap, "key.serializer", ByteArraySerializer.class,
            "value.serializer", ByteArraySerializer.class, "acks", "all", "linger.ms", "0"));
        if (transactionalId != null) {
            config.put("transactional.id", transactionalId);
            config.put("transaction.timeout.ms", "600000");
        }
        KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(config);
        if (transactionalId != null) {
            producer.initTransactions();
        }
        return producer;
    }

    private static void send(KafkaProducer<byte[], byte[]> producer, String topic, int partition, int count) throws Exception {
        for (int i = 0; i < count; i++) {
            producer.send(new ProducerRecord<>(topic, partition, bytes("k" + i), bytes("a value with some bytes, number " + i))).get();
        }
    }

    private void records() throws Exception {
        try (KafkaProducer<byte[], byte[]> producer = producer(null)) {
            for (String topic : List.of("orders", "kept", "dropped")) {
                send(producer, topic, 0, 20);
            }
            send(producer, "orders", 1, 10);
            send(producer, "payments", 0, 60);
            long now = System.currentTimeMillis();
            for (int i = 0; i < 60; i++) {
                // Two thirds are older than the cluster keeps, but for one among them.
                long timestamp = i < 40 && i != 25 ? now - TimeUnit.HOURS.toMillis(10) + i : now + i;
                producer.send(new ProducerRecord<>("aged", 0, timestamp, bytes("k" + i), bytes("a value with some bytes, number " + i))).get();
            }
        }
    }

    private void transactions() throws Exception {
        offsetsIn("committed", "in-transactions", Map.of("orders", 7L, "kept", 3L), "commit", null);
        offsetsIn("aborted", "in-transactions", Map.of("orders", 9L, "stuck", 5L), "abort", null);
        offsetsIn("undecided", "in-transactions", Map.of("orders", 11L, "payments", 2L), null, "payments");
        offsetsIn("other-group", "also-in-transactions", Map.of("orders", 1L), "commit", null);
        producer("idle").close();
    }

    private void offsetsIn(String id, String group, Map<String, Long> offsets, String end, String write) throws Exception {
        KafkaProducer<byte[], byte[]> producer = producer(id);
        producer.beginTransaction();
        if (write != null) {
            send(producer, write, 0, 3);
        }
        send(producer, "stuck", 0, 2);
        Map<TopicPartition, OffsetAndMetadata> commits = new HashMap<>();
        offsets.forEach((topic, offset) -> commits.put(new TopicPartition(topic, 0), new OffsetAndMetadata(offset, Optional.of(0), id)));
        producer.sendOffsetsToTransaction(commits, new ConsumerGroupMetadata(group));
        if (end == null) {
            producer.flush();
        } else if (end.equals("commit")) {
            producer.commitTransaction();
        } else {
            producer.abortTransaction();
        }
        // An orderly end would abort what is open.
        if (end != null) {
            producer.close();
        }
    }

    private Map<String, Object> consumer(String group, Map<String, Object> more) {
        Map<String, Object> config = new HashMap<>(Map.of("bootstrap.servers", bootstrap, "group.id", group,
            "key.deserializer", ByteArrayDeserializer.class, "value.deserializer", ByteArrayDeserializer.class));
        config.putAll(more);
        return config;
    }

    private void groups() throws Exception {
        Map<String, Object> plain = Map.of("auto.offset.reset", "earliest", "enable.auto.commit", "false");
        member(consumer("classic-group", with(plain, "group.protocol", "classic", "group.instance.id", "worker-1", "client.id", "one")), "orders", true);
        member(consumer("consumer-group", with(plain, "group.protocol", "consumer", "client.id", "two", "client.rack", "a")), "orders", true);
        member(consumer("consumer-group", with(plain, "group.protocol", "consumer", "client.id", "three")), "orders", false);
        try (KafkaConsumer<byte[], byte[]> manual = new KafkaConsumer<>(consumer("manual-group", with(plain, "group.protocol", "classic")))) {
            manual.assign(List.of(new TopicPartition("orders", 1), new TopicPartition("payments", 0), new TopicPartition("dropped", 0)));
            manual.commitSync(Map.of(new TopicPartition("orders", 1), new OffsetAndMetadata(4, "réglé ✓"),
                new TopicPartition("payments", 0), new OffsetAndMetadata(1), new TopicPartition("dropped", 0), new OffsetAndMetadata(2)));
            manual.commitSync(Map.of(new TopicPartition("orders", 1), new OffsetAndMetadata(6, "then this")));
        }
        for (String group : List.of("left", "deleted")) {
            try (KafkaConsumer<byte[], byte[]> gone = new KafkaConsumer<>(consumer(group, with(plain, "group.protocol", "classic")))) {
                gone.subscribe(List.of("kept"));
                readSome(gone);
                gone.commitSync();
            }
        }
        admin.deleteConsumerGroups(List.of("deleted")).all().get();
        admin.deleteConsumerGroupOffsets("manual-group", Set.of(new TopicPartition("payments", 0))).all().get();
        share();
        streams();
        settled();
    }

    private static Map<String, Object> with(Map<String, Object> config, String... more) {
        Map<String, Object> all = new HashMap<>(config);
        for (int i = 0; i < more.length; i += 2) {
            all.put(more[i], more[i + 1]);
        }
        return all;
    }

    private static void readSome(KafkaConsumer<byte[], byte[]> consumer) {
        long deadline = System.currentTimeMillis() + PATIENCE_MS;
        while (consumer.poll(POLL).isEmpty()) {
            require(System.currentTimeMillis() < deadline, "nothing to read");
        }
    }

    /** A member that reads on for as long as this program runs. */
    private void member(Map<String, Object> config, String topic, boolean reads) throws Exception {
        CountDownLatch ready = new CountDownLatch(1);
        Thread thread = new Thread(() -> {
            KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(config);
            consumer.subscribe(List.of(topic));
            if (reads) {
                readSome(consumer);
                Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                consumer.assignment().forEach(each -> offsets.put(each, new OffsetAndMetadata(each.partition() + 3, "by a member")));
                consumer.commitSync(offsets);
            }
            ready.countDown();
            while (true) {
                consumer.poll(POLL);
            }
        });
        thread.setDaemon(true);
        thread.start();
        require(ready.await(PATIENCE_MS, TimeUnit.MILLISECONDS), "a member did not get ready");
    }

    private void share() throws Exception {
        ConfigResource group = new ConfigResource(ConfigResource.Type.GROUP, "share-group");
        admin.incrementalAlterConfigs(Map.of(group,
            List.of(new AlterConfigOp(new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET)))).all().get();
        CountDownLatch ready = new CountDownLatch(1);
        Thread thread = new Thread(() -> {
            KafkaShareConsumer<byte[], byte[]> consumer = new KafkaShareConsumer<>(consumer("share-group", Map.of()));
            consumer.subscribe(List.of("orders"));
            int read = 0;
            while (true) {
                // Some are acknowledged, and all that comes then.
                read += consumer.poll(POLL).count();
                consumer.commitSync();
                if (read >= 30) {
                    ready.countDown();
                }
            }
        });
        thread.setDaemon(true);
        thread.start();
        require(ready.await(PATIENCE_MS, TimeUnit.MILLISECONDS), "the share group did not read");
    }

    /** Two members of a streams group, each task with a standby. They are heartbeats alone: nothing is processed. */
    private void streams() throws Exception {
        admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.GROUP, "streams-group"),
            List.of(new AlterConfigOp(new ConfigEntry("streams.num.standby.replicas", "1"), AlterConfigOp.OpType.SET)))).all().get();
        for (String client : List.of("four", "five")) {
            Thread thread = new Thread(() -> {
                try {
                    beat("streams-group", client);
                } catch (Exception thrown) {
                    thrown.printStackTrace();
                }
            });
            thread.setDaemon(true);
            thread.start();
        }
        long deadline = System.currentTimeMillis() + PATIENCE_MS;
        while (true) {
            StreamsGroupDescription group = streamsGroup();
            boolean shared = group.members().stream().allMatch(each -> !each.assignment().activeTasks().isEmpty()
                && !each.assignment().standbyTasks().isEmpty() && each.assignment().equals(each.targetAssignment()));
            if (group.members().size() == 2 && shared && group.groupState().toString().equals("Stable")) {
                break;
            }
            require(System.currentTimeMillis() < deadline, "the streams group is " + group.groupState() + " with " + group.members());
            Thread.sleep(100);
        }
        admin.alterStreamsGroupOffsets("streams-other", Map.of(new TopicPartition("orders", 0), new OffsetAndMetadata(2))).all().get();
    }

    private StreamsGroupDescription streamsGroup() throws Exception {
        try {
            return admin.describeStreamsGroups(List.of("streams-group")).all().get().get("streams-group");
        } catch (ExecutionException thrown) {
            if (thrown.getCause() instanceof GroupIdNotFoundException) {
                return new StreamsGroupDescription("streams-group", 0, 0, 0, List.of(), List.of(), GroupState.EMPTY,
                    org.apache.kafka.common.Node.noNode(), Set.of());
            }
            throw thrown;
        }
    }

    /** Joins a streams group and stays in it, with the tasks that it is given, for as long as this program runs. */
    private void beat(String group, String client) throws Exception {
        String[] address = bootstrap.split(":");
        StreamsGroupHeartbeatRequestData beat = new StreamsGroupHeartbeatRequestData().setGroupId(group)
            .setMemberId(Uuid.randomUuid().toString()).setMemberEpoch(0).setRebalanceTimeoutMs(60_000).setProcessId("process-" + client)
            .setRackId("rack-" + client).setUserEndpoint(new StreamsGroupHeartbeatRequestData.Endpoint().setHost("host-" + client).setPort(4_000))
            .setClientTags(List.of(new StreamsGroupHeartbeatRequestData.KeyValue().setKey("zone").setValue("a")))
            .setActiveTasks(List.of()).setStandbyTasks(List.of()).setWarmupTasks(List.of())
            .setTopology(new StreamsGroupHeartbeatRequestData.Topology().setEpoch(0).setSubtopologies(List.of(
                new StreamsGroupHeartbeatRequestData.Subtopology().setSubtopologyId("0").setSourceTopics(List.of("orders"))
                    .setStateChangelogTopics(List.of(new StreamsGroupHeartbeatRequestData.TopicInfo().setName("streams-group-store-changelog")
                        .setReplicationFactor((short) 1))))));
        try (Socket socket = new Socket(address[0], Integer.parseInt(address[1]))) {
            DataOutputStream out = new DataOutputStream(socket.getOutputStream());
            DataInputStream in = new DataInputStream(socket.getInputStream());
            for (int number = 0; ; number++) {
                StreamsGroupHeartbeatRequest request = new StreamsGroupHeartbeatRequest.Builder(beat).build((short) 0);
                RequestHeader header = new RequestHeader(ApiKeys.STREAMS_GROUP_HEARTBEAT, (short) 0, client, number);
                ByteBuffer sent = request.serializeWithHeader(header);
                out.writeInt(sent.remaining());
                out.write(sent.array(), sent.arrayOffset() + sent.position(), sent.remaining());
                byte[] answer = new byte[in.readInt()];
                in.readFully(answer);
                var found = ((StreamsGroupHeartbeatResponse) AbstractResponse.parseResponse(ByteBuffer.wrap(answer), header)).data();
                require(found.errorCode() == 0, "heartbeat: " + found);
                beat.setMemberEpoch(found.memberEpoch()).setTopology(null);
                if (found.activeTasks() != null) {
                    beat.setActiveTasks(owned(found.activeTasks())).setStandbyTasks(owned(found.standbyTasks()))
                        .setWarmupTasks(owned(found.warmupTasks()));
                }
                Thread.sleep(300);
            }
        }
    }

    private static List<StreamsGroupHeartbeatRequestData.TaskIds> owned(List<StreamsGroupHeartbeatResponseData.TaskIds> tasks) {
        List<StreamsGroupHeartbeatRequestData.TaskIds> found = new ArrayList<>();
        tasks.forEach(each -> found.add(new StreamsGroupHeartbeatRequestData.TaskIds().setSubtopologyId(each.subtopologyId())
            .setPartitions(each.partitions())));
        return found;
    }

    /** Waits until both members of the consumer group have what they are to have. */
    private void settled() throws Exception {
        long deadline = System.currentTimeMillis() + PATIENCE_MS;
        while (true) {
            var group = admin.describeConsumerGroups(List.of("consumer-group")).all().get().get("consumer-group");
            boolean shared = group.members().stream().allMatch(each -> each.assignment().topicPartitions().size() == 1);
            if (group.members().size() == 2 && shared && group.groupState().toString().equals("Stable")) {
                return;
            }
            require(System.currentTimeMillis() < deadline, "the consumer group is " + group);
            Thread.sleep(100);
        }
    }

    private void metadata() throws Exception {
        admin.deleteTopics(List.of("dropped")).all().get();
        admin.createPartitions(Map.of("kept", NewPartitions.increaseTo(2))).all().get();
        admin.incrementalAlterConfigs(Map.of(
            new ConfigResource(ConfigResource.Type.TOPIC, "kept"), List.of(
                new AlterConfigOp(new ConfigEntry("min.compaction.lag.ms", "5"), AlterConfigOp.OpType.SET)),
            new ConfigResource(ConfigResource.Type.TOPIC, "orders"), List.of(
                new AlterConfigOp(new ConfigEntry("retention.bytes", ""), AlterConfigOp.OpType.DELETE)),
            new ConfigResource(ConfigResource.Type.BROKER, ""), List.of(
                new AlterConfigOp(new ConfigEntry("log.retention.ms", "7200000"), AlterConfigOp.OpType.SET)))).all().get();
        ClientQuotaEntity alice = new ClientQuotaEntity(Map.of(ClientQuotaEntity.USER, "alice"));
        Map<String, String> defaults = new HashMap<>();
        defaults.put(ClientQuotaEntity.CLIENT_ID, null);
        admin.alterClientQuotas(List.of(
            new ClientQuotaAlteration(alice, List.of(
                new ClientQuotaAlteration.Op("producer_byte_rate", 1024.0), new ClientQuotaAlteration.Op("consumer_byte_rate", 1.0))),
            new ClientQuotaAlteration(new ClientQuotaEntity(defaults), List.of(
                new ClientQuotaAlteration.Op("request_percentage", 12.5))))).all().get();
        admin.alterClientQuotas(List.of(new ClientQuotaAlteration(alice, List.of(
            new ClientQuotaAlteration.Op("consumer_byte_rate", null))))).all().get();
        admin.alterUserScramCredentials(List.of(new UserScramCredentialUpsertion(
            "alice", new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), "not-a-secret"))).all().get();
        ResourcePattern pattern = new ResourcePattern(ResourceType.TOPIC, "ord", PatternType.PREFIXED);
        AclBinding kept = new AclBinding(pattern, new AccessControlEntry("User:bob", "*", AclOperation.READ, AclPermissionType.ALLOW));
        AclBinding gone = new AclBinding(pattern, new AccessControlEntry("User:eve", "*", AclOperation.WRITE, AclPermissionType.DENY));
        admin.createAcls(List.of(kept, gone)).all().get();
        admin.deleteAcls(List.of(gone.toFilter())).all().get();
        Thread.sleep(500);
    }

    // ---------------------------------------------------------------- what Kafka says

    private String producerOf(String transactionalId) throws Exception {
        TransactionDescription found = admin.describeTransactions(List.of(transactionalId)).description(transactionalId).get();
        return found.producerId() + " " + found.producerEpoch();
    }

    /** Writes what the tools say into a folder. Answers the offset of the metadata log at that moment. */
    private String ask(Path folder, String node) throws Exception {
        Files.createDirectories(folder);
        String groups = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand";
        String transactions = "org.apache.kafka.tools.TransactionsCommand";
        tool(folder, "groups-offsets.txt", groups, "--describe", "--all-groups", "--offsets");
        tool(folder, "groups-state.txt", groups, "--describe", "--all-groups", "--state");
        tool(folder, "groups-members.txt", groups, "--describe", "--all-groups", "--members", "--verbose");
        tool(folder, "share-offsets.txt", "org.apache.kafka.tools.consumer.group.ShareGroupCommand", "--describe", "--all-groups", "--offsets");
        String streams = "org.apache.kafka.tools.streams.StreamsGroupCommand";
        tool(folder, "streams-state.txt", streams, "--describe", "--all-groups", "--state", "--verbose");
        tool(folder, "streams-members.txt", streams, "--describe", "--all-groups", "--members", "--verbose");
        tool(folder, "streams-offsets.txt", streams, "--describe", "--all-groups", "--offsets", "--verbose");
        write(folder, "streams.json", streamsJson());
        tool(folder, "transactions-list.txt", transactions, "list");
        tool(folder, "transactions-hanging.txt", transactions, "find-hanging", "--broker-id", node, "--max-transaction-timeout", "0");
        for (String id : List.of("committed", "aborted", "undecided", "idle")) {
            tool(folder, "transactions-describe-" + id + ".txt", transactions, "describe", "--transactional-id", id);
        }
        write(folder, "transactions.json", transactionsJson());
        write(folder, "producers.json", producersJson());
        write(folder, "metadata.json", metadataJson());
        return String.valueOf(admin.describeMetadataQuorum().quorumInfo().get().highWatermark());
    }

    private void tool(Path folder, String name, String main, String... more) throws Exception {
        List<String> arguments = new ArrayList<>(List.of("--bootstrap-server", bootstrap));
        arguments.addAll(Arrays.asList(more));
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        PrintStream before = System.out;
        System.setOut(new PrintStream(text, true, StandardCharsets.UTF_8));
        try {
            Method method = Class.forName(main).getMethod("main", String[].class);
            // What they say when they are done would end this program.
            org.apache.kafka.common.utils.Exit.setExitProcedure((status, message) -> {
                throw new IllegalStateException(main + " ended with " + status + ": " + message);
            });
            method.invoke(null, (Object) arguments.toArray(new String[0]));
        } catch (InvocationTargetException thrown) {
            if (!(thrown.getCause() instanceof IllegalStateException) || !thrown.getCause().getMessage().contains("ended with 0")) {
                throw thrown;
            }
        } finally {
            System.setOut(before);
        }
        Files.write(folder.resolve(name), text.toByteArray());
    }

    private static void write(Path folder, String name, String text) throws Exception {
        Files.writeString(folder.resolve(name), text + "\n");
    }

    private String transactionsJson() throws Exception {
        Map<String, String> found = new TreeMap<>();
        List<String> ids = new ArrayList<>();
        admin.listTransactions().all().get().forEach(each -> ids.add(each.transactionalId()));
        for (var each : admin.describeTransactions(ids).all().get().entrySet()) {
            TransactionDescription one = each.getValue();
            Set<String> partitions = new TreeSet<>();
            one.topicPartitions().forEach(partition -> partitions.add(quoted(partition.toString())));
            found.put(quoted(each.getKey()), "{\"producerId\":" + one.producerId() + ",\"producerEpoch\":" + one.producerEpoch()
                + ",\"state\":" + quoted(one.state().toString()) + ",\"timeoutMs\":" + one.transactionTimeoutMs()
                + ",\"startTimestamp\":" + (one.transactionStartTimeMs().isPresent() ? one.transactionStartTimeMs().getAsLong() : "null")
                + ",\"partitions\":[" + String.join(",", partitions) + "]}");
        }
        return object(found);
    }

    private String streamsJson() throws Exception {
        StreamsGroupDescription group = streamsGroup();
        Map<String, String> members = new TreeMap<>();
        for (StreamsGroupMemberDescription each : group.members()) {
            members.put(quoted(each.memberId()), "{\"epoch\":" + each.memberEpoch() + ",\"clientId\":" + quoted(each.clientId())
                + ",\"clientHost\":" + quoted(each.clientHost()) + ",\"processId\":" + quoted(each.processId())
                + ",\"active\":" + tasks(each.assignment().activeTasks()) + ",\"standby\":" + tasks(each.assignment().standbyTasks())
                + ",\"warmup\":" + tasks(each.assignment().warmupTasks()) + "}");
        }
        return object(Map.of(quoted("state"), quoted(group.groupState().toString()), quoted("epoch"), String.valueOf(group.groupEpoch()),
            quoted("members"), object(members)));
    }

    private static String tasks(List<StreamsGroupMemberAssignment.TaskIds> tasks) {
        Map<String, String> found = new TreeMap<>();
        tasks.forEach(each -> found.put(quoted(each.subtopologyId()), String.valueOf(new TreeSet<>(each.partitions()))));
        return object(found);
    }

    private List<TopicPartition> partitions() throws Exception {
        List<TopicPartition> found = new ArrayList<>();
        for (TopicDescription each : topicDescriptions()) {
            each.partitions().forEach(partition -> found.add(new TopicPartition(each.name(), partition.partition())));
        }
        return found;
    }

    private List<TopicDescription> topicDescriptions() throws Exception {
        var options = new org.apache.kafka.clients.admin.ListTopicsOptions().listInternal(true);
        Set<String> names = new TreeSet<>(admin.listTopics(options).names().get());
        return new ArrayList<>(new TreeMap<>(admin.describeTopics(names).allTopicNames().get()).values());
    }

    private String producersJson() throws Exception {
        Map<String, String> found = new TreeMap<>();
        for (var each : admin.describeProducers(partitions()).all().get().entrySet()) {
            Map<Long, String> producers = new TreeMap<>();
            for (ProducerState one : each.getValue().activeProducers()) {
                producers.put(one.producerId(), "{\"producerId\":" + one.producerId() + ",\"producerEpoch\":" + one.producerEpoch()
                    + ",\"coordinatorEpoch\":" + (one.coordinatorEpoch().isPresent() ? one.coordinatorEpoch().getAsInt() : "null")
                    + ",\"lastSequence\":" + one.lastSequence() + ",\"lastTimestamp\":" + one.lastTimestamp()
                    + ",\"transactionOffset\":"
                    + (one.currentTransactionStartOffset().isPresent() ? one.currentTransactionStartOffset().getAsLong() : "null") + "}");
            }
            found.put(quoted(each.getKey().toString()), "[" + String.join(",", producers.values()) + "]");
        }
        return object(found);
    }

    private String metadataJson() throws Exception {
        Map<String, String> all = new TreeMap<>();
        Map<String, String> topics = new TreeMap<>();
        List<ConfigResource> resources = new ArrayList<>();
        for (TopicDescription each : topicDescriptions()) {
            List<String> partitions = new ArrayList<>();
            each.partitions().forEach(one -> partitions.add("{\"partition\":" + one.partition() + ",\"leader\":" + one.leader().id()
                + ",\"replicas\":" + ids(one.replicas()) + ",\"isr\":" + ids(one.isr()) + ",\"elr\":"
                + (one.elr() == null ? "[]" : ids(one.elr())) + "}"));
            topics.put(quoted(each.name()), "{\"topicId\":" + quoted(each.topicId().toString()) + ",\"partitions\":["
                + String.join(",", partitions) + "]}");
            resources.add(new ConfigResource(ConfigResource.Type.TOPIC, each.name()));
        }
        all.put(quoted("topics"), object(topics));
        resources.add(new ConfigResource(ConfigResource.Type.BROKER, ""));
        resources.add(new ConfigResource(ConfigResource.Type.GROUP, "share-group"));
        resources.add(new ConfigResource(ConfigResource.Type.GROUP, "streams-group"));
        Map<String, String> configs = new TreeMap<>();
        for (Map.Entry<ConfigResource, Config> each : admin.describeConfigs(resources).all().get().entrySet()) {
            Map<String, String> own = new TreeMap<>();
            String type = each.getKey().type().toString().toLowerCase(java.util.Locale.ROOT);
            Set<ConfigEntry.ConfigSource> sources = Set.of(ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG,
                ConfigEntry.ConfigSource.DYNAMIC_GROUP_CONFIG, ConfigEntry.ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG);
            for (ConfigEntry entry : each.getValue().entries()) {
                boolean inherited = type.equals("topic") && entry.source() != ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG;
                if (sources.contains(entry.source()) && !inherited) {
                    own.put(quoted(entry.name()), quoted(entry.value()));
                }
            }
            configs.put(quoted(type + ":" + each.getKey().name()), object(own));
        }
        all.put(quoted("configs"), object(configs));
        Map<String, String> features = new TreeMap<>();
        admin.describeFeatures().featureMetadata().get().finalizedFeatures().forEach(
            (name, range) -> features.put(quoted(name), String.valueOf(range.maxVersionLevel())));
        all.put(quoted("features"), object(features));
        Map<String, String> quotas = new TreeMap<>();
        admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get().forEach((entity, values) -> {
            Map<String, String> shown = new TreeMap<>();
            values.forEach((name, value) -> shown.put(quoted(name), String.valueOf(value)));
            Map<String, String> who = new TreeMap<>();
            entity.entries().forEach((kind, name) -> who.put(quoted(kind), name == null ? "null" : quoted(name)));
            quotas.put(quoted(object(who)), object(shown));
        });
        all.put(quoted("quotas"), object(quotas));
        List<String> acls = new ArrayList<>();
        admin.describeAcls(org.apache.kafka.common.acl.AclBindingFilter.ANY).values().get().forEach(each -> acls.add("["
            + String.join(",", quoted(each.entry().permissionType().toString()), quoted(each.entry().principal()), quoted(each.entry().host()),
                quoted(each.entry().operation().toString()), quoted(each.pattern().resourceType().toString()), quoted(each.pattern().name()),
                quoted(each.pattern().patternType().toString())) + "]"));
        all.put(quoted("acls"), "[" + String.join(",", acls) + "]");
        Map<String, String> users = new TreeMap<>();
        for (var each : admin.describeUserScramCredentials().all().get().entrySet()) {
            each.getValue().credentialInfos().forEach(info -> users.put(quoted(each.getKey() + " " + info.mechanism().mechanismName()),
                String.valueOf(info.iterations())));
        }
        all.put(quoted("users"), object(users));
        List<String> brokers = new ArrayList<>();
        admin.describeCluster().nodes().get().forEach(each -> brokers.add("{\"id\":" + each.id() + ",\"host\":" + quoted(each.host())
            + ",\"port\":" + each.port() + ",\"rack\":" + (each.rack() == null ? "null" : quoted(each.rack())) + "}"));
        all.put(quoted("brokers"), "[" + String.join(",", brokers) + "]");
        List<String> voters = new ArrayList<>();
        admin.describeMetadataQuorum().quorumInfo().get().voters().forEach(
            each -> voters.add("[" + each.replicaId() + "," + quoted(each.replicaDirectoryId().toString()) + "]"));
        all.put(quoted("voters"), "[" + String.join(",", voters) + "]");
        return object(all);
    }

    private static String ids(List<org.apache.kafka.common.Node> nodes) {
        List<String> found = new ArrayList<>();
        nodes.forEach(each -> found.add(String.valueOf(each.id())));
        return "[" + String.join(",", found) + "]";
    }

    private static String object(Map<String, String> entries) {
        List<String> found = new ArrayList<>();
        entries.forEach((name, value) -> found.add(name + ":" + value));
        return "{" + String.join(",", found) + "}";
    }

    private static String quoted(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\' || c < ' ') {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        return out.append('"').toString();
    }

    private static void require(boolean condition, String otherwise) {
        if (!condition) {
            throw new IllegalStateException(otherwise);
        }
    }
}
