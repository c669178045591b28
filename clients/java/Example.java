import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/** {@code java Example.java http://localhost:8080/v1/datasets/demo [token]}: lists nodes, reads, writes where that is allowed, and is refused. */
public class Example {
    public static void main(String[] args) throws IOException, InterruptedException {
        var dataset = new Zarrd(args[0], args.length > 1 ? args[1] : null);
        var paths = dataset.list("solar");
        System.out.println("arrays: " + String.join(" ", paths.subList(2, paths.size())));
        var noon = (float[][]) dataset.read("solar/irradiance", "12,::24,::48");
        System.out.println("noon: " + noon.length + "," + noon[0].length + " " + Arrays.deepToString(noon));
        try {
            dataset.write("solar/irradiance", "0,0,0:2", ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putFloat(1.5f).putFloat(2.5f));
            System.out.println("written: " + Arrays.toString((float[]) dataset.read("solar/irradiance", "0,0,0:2")));
        } catch (Zarrd.Problem problem) {
            System.out.println("written: " + problem.status + " " + problem.getMessage());
        }
        try {
            dataset.read("solar/irradiance", "999");
        } catch (Zarrd.Problem problem) {
            System.out.println("refused: " + problem.status + " " + problem.getMessage());
        }
    }
}
