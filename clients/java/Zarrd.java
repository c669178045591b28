import static java.nio.ByteOrder.LITTLE_ENDIAN;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.lang.reflect.Array;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A client of zarrd that needs only the JDK (17): a data set by its URL, http://localhost:8080/v1/datasets/demo, and a token or null. */
public record Zarrd(String url, String token) {
    private static final HttpClient CLIENT = HttpClient.newHttpClient();
    private static final String TEXT = "\"((?:[^\"\\\\]|\\\\.)*+)\"";
    private static final Map<String, Function<ByteBuffer, Object>> READERS = Map.of("int8", ByteBuffer::get, "int16", ByteBuffer::getShort,
            "int32", ByteBuffer::getInt, "int64", ByteBuffer::getLong, "float32", ByteBuffer::getFloat, "float64", ByteBuffer::getDouble);
    private static final Map<String, Class<?>> TYPES = Map.of("int8", byte.class, "int16", short.class, "int32", int.class, "int64", long.class,
            "float32", float.class, "float64", double.class);

    /** What the server refused: the message is the detail of the problem document, and what it allows or suggests. */
    @SuppressWarnings("serial")
    public static class Problem extends IOException {
        public final int status;

        Problem(int status, String document) {
            super(Stream.of("detail", "allowed", "suggestions").map(name -> String.join(", ", strings(document, name)))
                    .filter(text -> !text.isEmpty()).collect(Collectors.joining("; ")));
            this.status = status;
        }
    }

    /** What a JSON document has under a name as a string, or as a list of strings; without escapes of quotes and backslashes. */
    private static List<String> strings(String json, String name) {
        return Pattern.compile("\"" + name + "\":(\\[[^\\]]*\\]|" + TEXT + ")").matcher(json).results()
                .flatMap(value -> Pattern.compile(TEXT).matcher(value.group(1)).results())
                .map(found -> found.group(1).replaceAll("\\\\([\"\\\\])", "$1")).toList();
    }

    private HttpResponse<byte[]> ask(String method, String resource, String path, String query, byte[] body)
            throws IOException, InterruptedException {
        var target = url + "/" + resource + "/" + URLEncoder.encode(path, UTF_8).replace("+", "%20").replace("%2F", "/") + "?" + query;
        var request = HttpRequest.newBuilder(URI.create(target)).method(method, BodyPublishers.ofByteArray(body));
        if (token != null) {
            request.header("Authorization", "Bearer " + token);
        }
        var answer = CLIENT.send(request.build(), BodyHandlers.ofByteArray());
        if (answer.statusCode() >= 300) {
            throw new Problem(answer.statusCode(), new String(answer.body(), UTF_8));
        }
        return answer;
    }

    /** The paths of all nodes from the group on; "" is the root. */
    public List<String> list(String group) throws IOException, InterruptedException {
        return strings(new String(ask("GET", "tree", group, "fields=path", new byte[0]).body(), UTF_8), "path");
    }

    /** A slice as an array of the language, float[][] say; a single element as a number. */
    public Object read(String path, String slice) throws IOException, InterruptedException {
        var answer = ask("GET", "slices", path, "format=raw&slice=" + URLEncoder.encode(slice, UTF_8), new byte[0]);
        var type = answer.headers().firstValue("Zarr-Data-Type").orElse("");
        if (!TYPES.containsKey(type)) {
            throw new IOException(path + " has elements of " + type + ", allowed: " + TYPES.keySet());
        }
        var shape = Stream.of(answer.headers().firstValue("Zarr-Shape").orElse("").split(",")).filter(n -> !n.isEmpty());
        return nested(ByteBuffer.wrap(answer.body()).order(LITTLE_ENDIAN), type, shape.mapToInt(Integer::parseInt).toArray(), 0);
    }

    private static Object nested(ByteBuffer from, String type, int[] shape, int depth) {
        if (depth == shape.length) {
            return READERS.get(type).apply(from);
        }
        var array = Array.newInstance(TYPES.get(type), Arrays.copyOfRange(shape, depth, shape.length));
        for (int i = 0; i < shape[depth]; i++) {
            Array.set(array, i, nested(from, type, shape, depth + 1));
        }
        return array;
    }

    /** Store elements of the array's type, little-endian in C order, as a slice. */
    public void write(String path, String slice, ByteBuffer values) throws IOException, InterruptedException {
        ask("PUT", "slices", path, "slice=" + URLEncoder.encode(slice, UTF_8), values.array());
    }
}
